"""What references stand for while a run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.decide.flows.expressions import Lookup, Ref, RefKind, parse_text
from millpond.model.flow import Step
from millpond.model.flow_run import Files, FlowRunState, StepState


class Unavailable(Exception):
    """A reference to something that its step did not make."""


def lookup_for(state: FlowRunState, each: Mapping[str, Any]) -> Lookup:
    """How references are looked up by one execution of a step, whose values of `each` are given."""

    def look(ref: Ref) -> Any:
        match ref.kind:
            case RefKind.PARAM:
                return state.params.get(ref.name)
            case RefKind.EACH:
                return each.get(ref.name)
            case RefKind.FIXED:
                return state.run_id if ref.name == "run.id" else state.trigger_commit
            case RefKind.STEP:
                return _output(state, ref.step, "data")
            case RefKind.OUTPUT:
                return _output(state, ref.step, ref.name)
            case RefKind.OUTPUTS:
                return gathered(state, ref)

    return look


def gathered(state: FlowRunState, ref: Ref) -> list[Any]:
    """The output of every execution, in the order of the list they ran over."""
    runs = [run for run in state.steps.get(ref.step, ()) if run.index is not None]
    return [run.outputs[ref.name] for run in runs if ref.name in run.outputs]


def resolve(value: Any, lookup: Lookup) -> Any:
    """A value with all references in it replaced, however deep they are."""
    if isinstance(value, str):
        return parse_text(value).resolve(lookup) if "${" in value else value
    if isinstance(value, dict):
        return {key: resolve(item, lookup) for key, item in value.items()}
    return [resolve(item, lookup) for item in value] if isinstance(value, list) else value


def resolve_inputs(step: Step, lookup: Lookup) -> dict[str, Files | list[Files]]:
    """The files of each input; an optional one whose step was skipped is left out."""
    found = {}
    for name, text in step.inputs.items():
        try:
            found[name] = resolve(text, lookup)
        except Unavailable:
            if name not in step.optional_inputs:
                raise
    return found


def _output(state: FlowRunState, step: str, name: str) -> Any:
    runs = state.steps.get(step, ())
    if len(runs) == 1 and name in runs[0].outputs:
        return runs[0].outputs[name]
    was_skipped = any(run.state is StepState.SKIPPED for run in runs)
    raise Unavailable(f"Step {step} {'was skipped' if was_skipped else f'made no output {name}'}.")
