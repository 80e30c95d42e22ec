"""Starts a run: its parameters are checked and everything it uses is pinned, before the first step begins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection

from millpond.db import flow_runs, flows, request_keys
from millpond.decide.flows import graph
from millpond.decide.flows.check import check_flow
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.given import flow_params, split_given, step_params
from millpond.errors import BadRequest, Conflict
from millpond.model.flow import Flow, WhenBusy
from millpond.model.flow_run import (
    FlowRun,
    FlowRunPhase,
    FlowRunState,
    FlowStep,
    RunOptions,
    RunTrigger,
    StepState,
)
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project
from millpond.model.saved_flow import FlowVersion, SavedFlow
from millpond.services.computes.templates import check_named
from millpond.services.deps import Deps
from millpond.services.flows import checking, pins, saving
from millpond.services.flows.step_files import FILES
from millpond.services.flows.triggers.keeping import newest_watched
from millpond.services.flows.triggers.rights import run_as_name
from millpond.services.people import audit

TOPIC = "flows"
# Why a step of a flow is skipped that somebody left out.
NOT_PART = "Not part of this run."
# Why a dataset is skipped that all who read it can do without.
NOT_THERE = "The dataset or branch did not exist when the run started."


NotedBy: TypeAlias = Callable[[Connection, FlowRun], None]


@dataclass(frozen=True, slots=True)
class StartRun:
    """What is asked for. `params`: values, or texts as they are written on a command line; `STEP.PARAM` is one of a
    step. `noted_by` is called in the transaction that makes the run: what it raises keeps the run from being made."""

    version: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)
    trigger: RunTrigger | None = None
    noted_by: NotedBy | None = None


def start(deps: Deps, actor: Actor, project: Project, name: str, asked: StartRun) -> FlowRun:
    """A new run, which may have to wait for others (`concurrency`). BadRequest for wrong parameters."""
    with deps.db.read() as tx:
        saved = saving.find(tx, project, name)
        version = saving.find_version(tx, saved, asked.version)
    bundle = saving.bundle_of(deps, project, version)
    library = checking.library_of(deps, project, bundle)
    checked = check_flow(version.text, library.component, max_fan_out=deps.settings.max_fan_out)
    flow = checking.require_valid(checked)
    context = checked.context
    assert context is not None  # a valid flow has one
    earlier = _earlier(deps, saved, context, asked.options)
    own, of_steps = split_given(flow, asked.params)
    params = flow_params(flow, {**(earlier.run.params if earlier else {}), **own})
    options = replace(asked.options, step_params=step_params(context, {**asked.options.step_params, **of_steps}))
    runs_here = _chosen(context, options)
    trigger = _with_commit(deps, project, flow, asked.trigger or RunTrigger(by=actor.name))
    state = FlowRunState("", params, trigger_commit=trigger.commit)
    pinned = pins.pin(deps, actor, project, context, bundle, library, state, runs_here)
    with deps.db.read() as tx:
        _check_places(tx, flow, options)
    first = _FirstSteps(flow, runs_here, pinned, earlier)
    run = _insert(deps, actor, project, saved, version, trigger, params, options, first, asked.noted_by)
    announce(deps, run, "started")
    deps.events.wake(TOPIC)
    return run


def _with_commit(deps: Deps, project: Project, flow: Flow, trigger: RunTrigger) -> RunTrigger:
    """What no commit has started uses the newest commit of the branch that the flow waits for."""
    if trigger.commit is not None:
        return trigger
    with deps.db.read() as tx:
        return replace(trigger, commit=newest_watched(tx, flow, project.id))


def announce(deps: Deps, run: FlowRun, what: str) -> None:
    """Tell open pages of a change to a run."""
    data = {"project": run.project, "id": run.id, "what": what, "flow": run.flow, "state": run.phase.value}
    deps.events.publish("flow-runs", project_id=run.project_id, data=data)
    deps.events.publish(f"flow-run:{run.id}", project_id=run.project_id, data=data)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The run that outputs are taken from, and its steps."""

    run: FlowRun
    steps: Mapping[str, Sequence[FlowStep]]


def _earlier(deps: Deps, saved: SavedFlow, context: FlowContext, options: RunOptions) -> _Earlier | None:
    """The newest run that has everything which the chosen steps need; None if the whole flow runs."""
    wanted = options.from_step or options.only_step
    if wanted is None:
        return None
    if options.from_step and options.only_step:
        raise BadRequest("--from and --only cannot be combined.", hint="Give one of them.")
    if wanted not in context.flow.steps:
        raise BadRequest(f"The flow has no step {wanted!r}.", hint=nearest(wanted, context.flow.steps))
    needed = _needed(context, options)
    with deps.db.read() as tx:
        for run in flow_runs.ended(tx, saved.id):
            steps = _by_step(flow_runs.steps(tx, run.id))
            if all(_has_ended_well(steps.get(name, ())) for name in needed):
                return _Earlier(run, steps)
    names = ", ".join(sorted(needed))
    if not needed:
        return None
    raise Conflict(
        f"No earlier run of {saved.name!r} has outputs of {names}.",
        hint=f"Run the whole flow: mill flow run {saved.name}",
    )


def _chosen(context: FlowContext, options: RunOptions) -> set[str]:
    """The steps that run, and the datasets they read."""
    if options.only_step:
        return {options.only_step}
    if options.from_step:
        return graph.from_here(context.needs, options.from_step)
    return set(context.flow.steps)


def _needed(context: FlowContext, options: RunOptions) -> set[str]:
    """Steps whose outputs are taken from an earlier run."""
    chosen = _chosen(context, options)
    return {name for one in chosen for name in context.needs[one]} - chosen - context.optional_datasets


def _by_step(rows: Iterable[FlowStep]) -> dict[str, list[FlowStep]]:
    found: dict[str, list[FlowStep]] = {}
    for row in rows:
        found.setdefault(row.step, []).append(row)
    return found


def _has_ended_well(rows: Sequence[FlowStep]) -> bool:
    return bool(rows) and all(row.state.is_success for row in rows)


def _check_places(tx: Connection, flow: Flow, options: RunOptions) -> None:
    """NotFound for a template or queue that is not there, before anything runs."""
    places = {options.on, *(step.queue or ",".join(step.templates) for step in flow.steps.values())}
    for on in sorted(place for place in places if place and "${" not in place):
        check_named(tx, on)


def _insert(
    deps: Deps, actor: Actor, project: Project, saved: SavedFlow, version: FlowVersion, trigger: RunTrigger,
    params: Mapping[str, Any], options: RunOptions, first: _FirstSteps, noted_by: NotedBy | None,
) -> FlowRun:  # fmt: skip
    flow = first.flow
    now = deps.clock.now()
    with deps.db.write() as tx:
        # Locked: the number is the next one, and two that start at once see each other.
        if flows.lock(tx, saved.id) is None:
            raise Conflict(f"Flow {saved.name!r} is being removed.")
        phase, reason = _admit(tx, saved, flow, now)
        run = FlowRun(
            id=new_id(),
            project_id=project.id,
            project=project.name,
            flow_id=saved.id,
            flow=saved.name,
            number=flow_runs.newest_number(tx, saved.id) + 1,
            version=version.number,
            phase=phase,
            reason=reason,
            trigger=trigger,
            params=params,
            options=options,
            pins=first.pinned.document(),
            created_by=actor.name,
            run_as=run_as_name(flow, version),
            created_at=now,
            started_at=now if phase is FlowRunPhase.RUNNING else None,
            ended_at=now if phase.is_finished else None,
        )
        flow_runs.insert(tx, run)
        request_keys.note_made(tx, f"/projects/{project.name}/flow-runs/{run.id}")
        if not phase.is_finished:
            flow_runs.insert_steps(tx, first.rows(run, now))
        if noted_by is not None:
            noted_by(tx, run)
        audit.record(tx, now=now, actor=actor, action="flow.run", subject=f"{project.name}/{run.written}",
                     project_id=project.id, details={"run": run.id, "trigger": run.trigger.type})  # fmt: skip
    return run


def _admit(tx: Connection, saved: SavedFlow, flow: Flow, now: datetime) -> tuple[FlowRunPhase, str]:
    """How the run begins, as `concurrency` says."""
    limit = flow.concurrency.limit
    living = flow_runs.living(tx, saved.id)
    if not limit or len(living) < limit:
        return FlowRunPhase.RUNNING, ""
    names = ", ".join(run.written for run in living[:3])
    match flow.concurrency.then:
        case WhenBusy.SKIP:
            return FlowRunPhase.SKIPPED, f"Skipped: {names} had not ended."
        case WhenBusy.QUEUE:
            return FlowRunPhase.QUEUED, f"Waits for {names}."
        case WhenBusy.CANCEL_RUNNING:
            for run in living:
                if run.cancelled_by is None:
                    flow_runs.save(tx, replace(run, cancelled_by="a newer run", due=True))
            return FlowRunPhase.QUEUED, f"Waits until {names} is cancelled."


@dataclass(frozen=True, slots=True)
class _FirstSteps:
    """Steps that have ended before the run begins: datasets, what comes from an earlier run, what is left out."""

    flow: Flow
    chosen: Collection[str]
    pinned: pins.Pins
    earlier: _Earlier | None

    def rows(self, run: FlowRun, now: datetime) -> list[FlowStep]:
        found = [_dataset_step(run, name, place, now) for name, place in self.pinned.datasets.items()]
        for name, step in self.flow.steps.items():
            if name in self.pinned.datasets:
                continue
            if name not in self.chosen:
                found += self._not_run(run, name, now)
            elif step.dataset:
                found.append(FlowStep(new_id(16), run.id, name, -1, StepState.SKIPPED, NOT_THERE, ended_at=now))
        return found

    def _not_run(self, run: FlowRun, name: str, now: datetime) -> list[FlowStep]:
        rows = self.earlier.steps.get(name, ()) if self.earlier else ()
        if self.earlier is not None and _has_ended_well(rows):
            return [_taken(run, row, self.earlier.run, now) for row in rows]
        return [FlowStep(new_id(16), run.id, name, -1, StepState.SKIPPED, NOT_PART, ended_at=now)]


def _dataset_step(run: FlowRun, name: str, place: str, now: datetime) -> FlowStep:
    outputs = {"data": {FILES: place, "type": "directory"}}
    return FlowStep(new_id(16), run.id, name, -1, StepState.SUCCEEDED, outputs=outputs, started_at=now, ended_at=now)


def _taken(run: FlowRun, row: FlowStep, earlier: FlowRun, now: datetime) -> FlowStep:
    """A step of an earlier run whose outputs this one uses."""
    made_by = row.remembered_from or f"{earlier.written}/{row.label}"
    return replace(
        row, id=new_id(16), run_id=run.id, state=StepState.REMEMBERED, reason=f"Taken from {earlier.written}.",
        remembered_from=made_by, job_id=None, memo_key=None, attempts=0, ready_at=now, started_at=now, ended_at=now,
    )  # fmt: skip
