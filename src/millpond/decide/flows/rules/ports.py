"""Inputs get what their component expects, and outputs are what they say."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import RefKind, exact_ref
from millpond.decide.flows.fields import nearest
from millpond.model.flow import COMMIT_TYPES, VALUE_TYPES, FlowProblem, fits


def inputs_fit(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        declared = flow.inputs(step)
        for key, text in step.inputs.items():
            path = ("steps", name, "inputs", key)
            if declared is not None and key not in declared:
                message = f"Component {step.component!r} has no input {key!r}."
                yield flow.problem(path, "unknown-input", message, nearest(key, declared), at_key=True)
                continue
            ref = exact_ref(text)
            if ref is None:
                if "${" not in text:
                    hint = "Write a reference, like ${steps.data} or ${steps.split.outputs.train}."
                    yield flow.problem(path, "input", f"Input {key!r} is not a reference.", hint)
                continue
            given = "directory" if ref.kind is RefKind.OUTPUTS else flow.type_of(ref)
            wanted = declared[key].type if declared is not None else None
            if given in VALUE_TYPES or given == "dataset":
                hint = "Pass values under 'params'; make a dataset a step of its own."
                yield flow.problem(path, "type", f"{ref} is a value, not files.", hint)
            elif given and wanted in COMMIT_TYPES and not fits(given, wanted or "") and ref.kind is not RefKind.STEP:
                message = f"Input {key!r} expects type {wanted}, but {ref} has type {given}."
                yield flow.problem(path, "type", message, f"Connect an output of type {wanted}.")


def inputs_are_complete(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        for port in (flow.inputs(step) or {}).values():
            if port.required and port.name not in step.inputs:
                message = f"Step {name!r} lacks the input {port.name!r} ({port.type}) of {step.component}."
                hint = f"Add it under inputs: {port.name}: ${{steps.…}}"
                yield flow.problem(("steps", name), "missing-input", message, hint, at_key=True)
