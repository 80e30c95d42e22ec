"""What a run of a flow does next: a pure function of how far its steps have come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from millpond.decide.flows.context import MAX_FAN_OUT, FlowContext
from millpond.decide.flows.expressions import ExpressionError, RefKind, evaluate, parse_condition
from millpond.decide.flows.resolving import Unavailable, lookup_for, resolve, resolve_inputs
from millpond.model.flow import Flow, Step, StepKind
from millpond.model.flow_run import FlowRunState, StepRun, StepState

_NOT_BEGUN = (StepState.READY, StepState.WAITING)


@dataclass(frozen=True, slots=True)
class StepStart:
    """An execution that may start now, with everything it needs."""

    run: StepRun
    inputs: Mapping[str, Any]
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FlowDecision:
    """`changed`: steps that are now expanded, skipped, failed or waiting for approval. `ended`: how the run ended."""

    starts: tuple[StepStart, ...] = ()
    changed: Mapping[str, tuple[StepRun, ...]] = field(default_factory=dict)
    # Why each step that has not begun waits.
    waits: Mapping[str, str] = field(default_factory=dict)
    ended: tuple[StepState, str] | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.starts or self.changed or self.ended)


def next_steps(context: FlowContext, state: FlowRunState, *, max_fan_out: int = MAX_FAN_OUT) -> FlowDecision:
    """Expand, skip and start what can be now. Called again after every change; equal states give equal decisions."""
    flow = context.flow
    steps = dict(state.steps)
    changed: dict[str, tuple[StepRun, ...]] = {}
    waits: dict[str, str] = {}
    is_stopping = _is_stopping(flow, state, steps)
    # In an order in which every step comes after those it needs, so one pass settles what follows from what.
    for name in context.order:
        if name in steps:
            continue
        answer = _settle(context, replace_steps(state, steps), flow.steps[name], is_stopping, max_fan_out)
        if isinstance(answer, str):
            waits[name] = answer
        else:
            steps[name] = changed[name] = answer
    # Steps that failed just now, by their own expressions, count too.
    if _is_stopping(flow, state, steps):
        given_up = _given_up(steps, _why_stopping(state))
        steps |= given_up
        changed |= given_up
        return FlowDecision((), changed, waits, _ended(flow, steps, waits, state, ()))
    starts = _starts(context, replace_steps(state, steps))
    return FlowDecision(starts, changed, waits, _ended(flow, steps, waits, state, starts))


def with_started(state: FlowRunState, starts: Sequence[StepStart]) -> FlowRunState:
    """The state once these have been started."""
    places = {(start.run.step, start.run.index) for start in starts}
    steps = {
        name: tuple(replace(run, state=StepState.QUEUED) if (name, run.index) in places else run for run in runs)
        for name, runs in state.steps.items()
    }
    return replace_steps(state, steps)


def replace_steps(state: FlowRunState, steps: Mapping[str, tuple[StepRun, ...]]) -> FlowRunState:
    return FlowRunState(state.run_id, state.params, steps, state.trigger_commit, state.is_cancelled)


def _settle(
    context: FlowContext, state: FlowRunState, step: Step, is_stopping: bool, max_fan_out: int
) -> tuple[StepRun, ...] | str:
    """The executions of a step whose time has come, or why it waits."""
    unfinished = [name for name in sorted(context.needs[step.name]) if not _is_finished(state.steps.get(name))]
    if unfinished and not is_stopping:
        return f"Waits for {', '.join(unfinished)}."
    if is_stopping:
        return (StepRun(step.name, state=StepState.SKIPPED, reason=_why_stopping(state)),)
    if missing := _unmet(context, state, step):
        return (StepRun(step.name, state=StepState.SKIPPED, reason=missing),)
    lookup = lookup_for(state, {})
    try:
        if step.when is not None and not evaluate(parse_condition(step.when), lookup):
            return (StepRun(step.name, state=StepState.SKIPPED, reason=f"Its condition is false: {step.when}"),)
        if step.kind is StepKind.APPROVAL:
            return (StepRun(step.name, state=StepState.WAITING, reason=_question(step, state)),)
        return _expand(step, state, max_fan_out)
    except (ExpressionError, Unavailable) as error:
        return (StepRun(step.name, state=StepState.FAILED, reason=str(error)),)


def _why_stopping(state: FlowRunState) -> str:
    return "The run was cancelled." if state.is_cancelled else "Another step failed."


def _given_up(steps: Mapping[str, tuple[StepRun, ...]], why: str) -> dict[str, tuple[StepRun, ...]]:
    """Executions that have not begun, and approvals that nobody need give any more."""
    return {
        name: tuple(
            replace(run, state=StepState.SKIPPED, reason=why) if run.state in _NOT_BEGUN else run for run in runs
        )
        for name, runs in steps.items()
        if any(run.state in _NOT_BEGUN for run in runs)
    }


def _unmet(context: FlowContext, state: FlowRunState, step: Step) -> str | None:
    """Why a finished step keeps this one from running: it failed, or was skipped and its output is needed."""
    optional = _optional_steps(context, step)
    for name in sorted(context.needs[step.name]):
        runs = state.steps[name]
        if any(run.state in (StepState.FAILED, StepState.CANCELLED) for run in runs):
            return f"Step {name} failed."
        if any(run.state is StepState.SKIPPED for run in runs) and name not in optional:
            return f"Step {name} was skipped."
    return _not_made(context, state, step)


def _not_made(context: FlowContext, state: FlowRunState, step: Step) -> str | None:
    """The optional output that this step needs and that its maker left out. `when` and `each` fail by themselves."""
    for placed, ref in context.refs_of(step.name):
        part, name = placed.path[2], placed.path[3:4]
        if ref.kind is not RefKind.OUTPUT or part in ("when", "each"):
            continue
        if part == "inputs" and name and name[0] in step.optional_inputs:
            continue
        if not any(ref.name in run.outputs for run in state.steps[ref.step]):
            return f"Step {ref.step} made no output {ref.name}."
    return None


def _optional_steps(context: FlowContext, step: Step) -> set[str]:
    """Steps that are needed only for inputs that may be missing."""
    needed: dict[str, bool] = {}
    for placed, ref in context.refs_of(step.name):
        if ref.step:
            is_optional = placed.path[2] == "inputs" and placed.path[3] in step.optional_inputs
            needed[ref.step] = needed.get(ref.step, True) and is_optional
    return {name for name, is_optional in needed.items() if is_optional and name not in step.after}


def _expand(step: Step, state: FlowRunState, max_fan_out: int) -> tuple[StepRun, ...]:
    if step.each is None:
        return (StepRun(step.name, state=StepState.READY),)
    rows = each_values(step, state)
    if len(rows) > max_fan_out:
        raise ExpressionError(f"It would run {len(rows):,} times; at most {max_fan_out:,} are allowed.")
    if not rows:
        return (StepRun(step.name, state=StepState.SUCCEEDED, reason="The list to run over is empty."),)
    return tuple(StepRun(step.name, index, row, StepState.READY) for index, row in enumerate(rows))


def each_values(step: Step, state: FlowRunState) -> list[Mapping[str, Any]]:
    """What each execution of a step gets: the product of its lists, the last one running fastest."""
    lookup = lookup_for(state, {})
    if isinstance(step.each, str):
        items = resolve(step.each, lookup)
        return [item if isinstance(item, dict) else {"item": item} for item in _list(items, step.each)]
    lists = {key: _list(resolve(value, lookup), key) for key, value in (step.each or {}).items()}
    return [dict(zip(lists, row, strict=True)) for row in product(*lists.values())]


def _list(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ExpressionError(f"each: {what} is not a list.")
    return value


def _starts(context: FlowContext, state: FlowRunState) -> tuple[StepStart, ...]:
    ready = [run for runs in state.steps.values() for run in runs if run.state is StepState.READY]
    if context.flow.max_parallel:
        running = sum(
            run.state.has_begun and not run.state.is_finished for runs in state.steps.values() for run in runs
        )
        ready = ready[: max(0, context.flow.max_parallel - running)]
    return tuple(_start(context.flow.steps[run.step], state, run) for run in ready)


def _start(step: Step, state: FlowRunState, run: StepRun) -> StepStart:
    lookup = lookup_for(state, run.each)
    return StepStart(
        run, resolve_inputs(step, lookup), {key: resolve(value, lookup) for key, value in step.params.items()}
    )


def _question(step: Step, state: FlowRunState) -> str:
    message = step.approval.message if step.approval else ""
    return f"Waits for approval: {resolve(message, lookup_for(state, {}))}" if message else "Waits for approval."


def _ended(
    flow: Flow,
    steps: Mapping[str, Sequence[StepRun]],
    waits: Mapping[str, str],
    state: FlowRunState,
    starts: Sequence[StepStart],
) -> tuple[StepState, str] | None:
    runs = [run for found in steps.values() for run in found]
    if waits or starts or not all(run.state.is_finished for run in runs) or len(steps) < len(flow.steps):
        return None
    if state.is_cancelled:
        return StepState.CANCELLED, "The run was cancelled."
    failed = [run for run in runs if run.state in (StepState.FAILED, StepState.CANCELLED)]
    if failed:
        first = failed[0]
        more = f" {len(failed) - 1} more failed." if len(failed) > 1 else ""
        return StepState.FAILED, f"Step {first.label} failed: {first.reason or 'see its log.'}{more}"
    return StepState.SUCCEEDED, ""


def _is_stopping(flow: Flow, state: FlowRunState, steps: Mapping[str, Iterable[StepRun]]) -> bool:
    if state.is_cancelled or flow.continue_on_failure:
        return state.is_cancelled
    return any(run.state in (StepState.FAILED, StepState.CANCELLED) for runs in steps.values() for run in runs)


def _is_finished(runs: Sequence[StepRun] | None) -> bool:
    return runs is not None and all(run.state.is_finished for run in runs)
