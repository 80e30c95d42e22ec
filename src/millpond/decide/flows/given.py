"""The parameters of a run: what people gave, typed and checked, with the defaults of the flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.values import parse_value, why_wrong
from millpond.errors import BadRequest
from millpond.model.flow import Flow, Param


def split_given(flow: Flow, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Parameters of the flow, and those of single steps (`STEP.PARAM`)."""
    own: dict[str, Any] = {}
    of_steps: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        step, dot, param = name.partition(".")
        if dot and name not in flow.params:
            of_steps.setdefault(step, {})[param] = value
        else:
            own[name] = value
    return own, of_steps


def flow_params(flow: Flow, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a run: what was given, else the defaults. BadRequest for what is unknown, wrong or missing."""
    for name in given:
        if name not in flow.params:
            raise BadRequest(f"The flow has no parameter {name!r}.", hint=nearest(name, flow.params))
    values = {
        name: _value(param, given[name]) if name in given else param.default for name, param in flow.params.items()
    }
    wrong = [why for name, param in flow.params.items() if (why := why_wrong(param, values[name]))]
    if wrong:
        raise BadRequest(" ".join(wrong), hint="Give a value: --set NAME=VALUE")
    return values


def step_params(context: FlowContext, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Typed by the component of the step; those of a command are taken as they are, numbers as numbers."""
    found: dict[str, dict[str, Any]] = {}
    for name, values in given.items():
        step = context.flow.steps.get(name)
        if step is None:
            raise BadRequest(f"The flow has no step {name!r}.", hint=nearest(name, context.flow.steps))
        declared = context.params(step)
        for key, value in values.items():
            if declared is not None and key not in declared:
                message = f"Component {step.component!r} of step {name!r} has no parameter {key!r}."
                raise BadRequest(message, hint=nearest(key, declared))
            param = declared[key] if declared is not None else Param(key, "json", optional=True)
            typed = _value(param, value)
            if wrong := why_wrong(param, typed):
                raise BadRequest(f"Step {name!r}: {wrong}", hint=param.help or None)
            found.setdefault(name, {})[key] = typed
    return found


def _value(param: Param, given: Any) -> Any:
    """A text that was written for a number, a flag or a list is read as one."""
    return parse_value(param, given) if isinstance(given, str) else given
