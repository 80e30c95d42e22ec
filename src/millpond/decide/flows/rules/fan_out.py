"""Fan-out stays within bounds, and what it made is gathered with `[*]`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.expressions import RefKind
from millpond.model.flow import FlowProblem


def is_bounded(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        if step.each is None or isinstance(step.each, str):
            continue
        count = prod(len(one) for one in step.each.values() if isinstance(one, list))
        if count > flow.max_fan_out:
            message = f"Step {name!r} would run {count:,} times; at most {flow.max_fan_out:,} are allowed."
            hint = "Shorten the lists, or raise the setting flows.max_fan_out."
            yield flow.problem(("steps", name, "each"), "fan-out", message, hint, at_key=True)


def is_gathered(flow: FlowContext) -> Iterator[FlowProblem]:
    for placed, ref in flow.refs:
        step = flow.flow.steps.get(ref.step)
        if step is None or ref.kind not in (RefKind.OUTPUT, RefKind.OUTPUTS):
            continue
        if ref.kind is RefKind.OUTPUT and step.each is not None:
            message = f"Step {ref.step!r} runs over a list, so it has many outputs {ref.name!r}."
            hint = f"Take all of them: ${{steps.{ref.step}[*].outputs.{ref.name}}}"
            yield flow.problem(placed.path, "fan-in", message, hint)
        if ref.kind is RefKind.OUTPUTS and step.each is None:
            message = f"Step {ref.step!r} runs once."
            yield flow.problem(placed.path, "fan-in", message, f"Write ${{steps.{ref.step}.outputs.{ref.name}}}")
