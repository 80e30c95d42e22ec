"""Steps form a graph without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.model.flow import FlowProblem


def has_no_cycle(flow: FlowContext) -> Iterator[FlowProblem]:
    try:
        TopologicalSorter(flow.needs).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        names = " → ".join(cycle)
        hint = "Remove one of these dependencies."
        yield flow.problem(("steps", cycle[0]), "cycle", f"Steps wait for each other: {names}.", hint, at_key=True)


def comes_after_known_steps(flow: FlowContext) -> Iterator[FlowProblem]:
    for name, step in flow.flow.steps.items():
        for index, other in enumerate(step.after):
            if other not in flow.flow.steps and other not in flow.unreadable_steps:
                hint = nearest(other, flow.flow.steps)
                yield flow.problem(
                    ("steps", name, "after", index), "unknown-step", f"There is no step {other!r}.", hint
                )
