"""References name something that exists, and inside a text only what can be written as text."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.decide.flows.context import FlowContext, Placed
from millpond.decide.flows.expressions import Ref, RefKind
from millpond.decide.flows.fields import nearest
from millpond.model.flow import COMMIT_TYPES, FlowProblem, StepKind


def are_readable(flow: FlowContext) -> Iterator[FlowProblem]:
    yield from flow.unreadable


def name_what_exists(flow: FlowContext) -> Iterator[FlowProblem]:
    for placed, ref in flow.refs:
        found = _what_is_missing(flow, placed, ref)
        if found is not None:
            message, hint = found
            yield flow.problem(placed.path, "unknown-reference", message, hint)


def in_text_are_scalars(flow: FlowContext) -> Iterator[FlowProblem]:
    for placed, ref in flow.refs:
        if placed.text.exact is not None and not _is_text(placed):
            continue
        kind = flow.type_of(ref)
        if ref.kind in (RefKind.STEP, RefKind.OUTPUTS) or kind in COMMIT_TYPES or kind in ("list", "json"):
            what = kind if kind and ref.kind is not RefKind.OUTPUTS else "list"
            hint = "Use it alone, as an input or parameter."
            yield flow.problem(placed.path, "not-scalar", f"{ref} is a {what}: it cannot be part of a text.", hint)


def files_are_inputs(flow: FlowContext) -> Iterator[FlowProblem]:
    """Files are no values: they have no place in parameters, and no step runs over them."""
    for placed, ref in flow.refs:
        if placed.text.exact is None or not placed.step or placed.path[2] not in ("params", "each"):
            continue
        if ref.kind is RefKind.STEP or flow.type_of(ref) in COMMIT_TYPES:
            hint = "Pass files under 'inputs'."
            yield flow.problem(placed.path, "type", f"{ref} stands for files, not for a value.", hint)


def datasets_are_known_at_the_start(flow: FlowContext) -> Iterator[FlowProblem]:
    """A dataset is fixed to a commit before anything runs."""
    for placed, ref in flow.refs:
        if placed.step and placed.path[2] == "dataset" and (ref.step or ref.name == "run.id"):
            hint = "Use ${params.…} or ${trigger.commit}; outputs of steps are inputs without a dataset step."
            message = f"{ref} is not known when the run starts, and the dataset is fixed then."
            yield flow.problem(placed.path, "dataset", message, hint)


def components_are_written_out(flow: FlowContext) -> Iterator[FlowProblem]:
    for placed, ref in flow.refs:
        if placed.step and placed.path[2] in ("component", "environment"):
            message = f"{placed.path[2]} cannot be chosen by {ref}: versions are fixed when the flow is saved."
            yield flow.problem(placed.path, "value", message, "Write its name.")


def _is_text(placed: Placed) -> bool:
    """True where a single reference is a text, too: a word of a command, a name."""
    return bool(placed.step) and placed.path[2] not in ("inputs", "params", "each")


def _what_is_missing(flow: FlowContext, placed: Placed, ref: Ref) -> tuple[str, str] | None:
    """What does not exist, and a hint; None if all is there."""
    if ref.kind is RefKind.PARAM:
        if ref.name in flow.flow.params:
            return None
        return f"The flow has no parameter {ref.name!r}.", nearest(ref.name, flow.flow.params)
    if ref.kind is RefKind.EACH:
        return _missing_key(flow, placed, ref)
    if ref.kind is RefKind.FIXED:
        return None
    step = flow.flow.steps.get(ref.step)
    if step is None and ref.step in flow.unreadable_steps:
        return None
    if step is None:
        return f"There is no step {ref.step!r}.", nearest(ref.step, flow.flow.steps)
    if ref.kind is RefKind.STEP:
        if step.kind is StepKind.DATASET:
            return None
        outputs = flow.outputs(step)
        hint = f"Name an output: {', '.join(f'${{steps.{ref.step}.outputs.{name}}}' for name in outputs or ())}"
        return f"Step {ref.step!r} is not a dataset.", hint if outputs else "It has no outputs."
    outputs = flow.outputs(step)
    if outputs is None or ref.name in outputs:
        return None
    return f"Step {ref.step!r} has no output {ref.name!r}.", nearest(ref.name, outputs)


def _missing_key(flow: FlowContext, placed: Placed, ref: Ref) -> tuple[str, str] | None:
    step = flow.flow.steps.get(placed.step)
    if step is None or step.each is None:
        return f"{ref} is outside of a step with 'each'.", "Add 'each' to the step."
    if isinstance(step.each, str) or ref.name in step.each:
        return None
    return f"'each' has no {ref.name!r}.", nearest(ref.name, step.each)
