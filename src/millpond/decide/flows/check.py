"""Reads and checks a flow: the same answer for `mill flow validate`, the server and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millpond.decide.flows.context import MAX_FAN_OUT, FlowContext
from millpond.decide.flows.reader import read_flow
from millpond.decide.flows.rules import RULES
from millpond.errors import BadName
from millpond.model.component import Component, ComponentRef
from millpond.model.flow import Flow, FlowProblem

# The newest component that a reference accepts; None if the library has none.
FindComponent = Callable[[ComponentRef], Component | None]


@dataclass(frozen=True, slots=True)
class CheckedFlow:
    """`flow` is None where the text is no flow at all; it may run only if there are no problems."""

    flow: Flow | None
    problems: tuple[FlowProblem, ...]
    components: Mapping[str, Component]
    # What the rules looked at; None where there is no flow.
    context: FlowContext | None = None


def check_flow(text: str, find: FindComponent, *, max_fan_out: int = MAX_FAN_OUT) -> CheckedFlow:
    """Every problem of a flow, in the order of the text. Never raises."""
    flow, document, problems = read_flow(text)
    if flow is None:
        return CheckedFlow(None, tuple(problems), {})
    components = _components(flow, find)
    context = FlowContext(flow, document, components, max_fan_out)
    problems += [problem for rule in RULES for problem in rule(context)]
    ordered = sorted(set(problems), key=lambda one: (one.line, one.column, one.code, one.message))
    return CheckedFlow(flow, tuple(ordered), components, context)


def _components(flow: Flow, find: FindComponent) -> dict[str, Component]:
    found: dict[str, Component] = {}
    for written in {step.component for step in flow.steps.values() if step.component}:
        try:
            component = find(ComponentRef.parse(written))
        except BadName:
            continue
        if component is not None:
            found[written] = component
    return found
