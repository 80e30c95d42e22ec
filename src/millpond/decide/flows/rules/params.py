"""Parameters have values of their type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import ExpressionError, RefKind, parse_text
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.values import why_wrong
from millpond.model.flow import FlowProblem, Param, fits


def have_valid_defaults(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, param in flow.flow.params.items():
        if param.min is not None and param.max is not None and param.min > param.max:
            yield flow.problem(("params", name), "value", f"{name}: min is larger than max.", at_key=True)
        if param.has_default and (wrong := why_wrong(param, param.default)):
            yield flow.problem(("params", name, "default"), "value", wrong)


def of_components_fit(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        declared = flow.params(step)
        if declared is None:
            continue
        for key, value in step.params.items():
            path = ("steps", name, "params", key)
            if key not in declared:
                message = f"Component {step.component!r} has no parameter {key!r}."
                yield flow.problem(path, "unknown-param", message, nearest(key, declared), at_key=True)
            elif wrong := _why_wrong(flow, declared[key], value):
                yield flow.problem(path, "value", wrong, declared[key].help)
        for param in declared.values():
            if param.is_required and param.name not in step.params:
                message = f"Step {name!r} lacks the parameter {param.name!r} of {step.component}."
                yield flow.problem(("steps", name), "missing-param", message, param.help, at_key=True)


def _why_wrong(flow: FlowContext, param: Param, value: Any) -> str | None:
    """A reference is checked by its type; its value is checked when the step starts."""
    if not isinstance(value, str) or "${" not in value:
        return why_wrong(param, value)
    try:
        ref = parse_text(value).exact
    except ExpressionError:
        return None
    given = "str" if ref is None else flow.type_of(ref)
    if given is None or (ref is not None and ref.kind is RefKind.OUTPUTS) or fits(given, param.type):
        return None
    return f"{param.name} expects type {param.type}, but {value} has type {given}."
