"""The steps of a run, as people name and count them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from millpond.decide.flows.fields import nearest
from millpond.errors import NotFound
from millpond.model.flow_run import StepState
from millpond.wire.flows import FlowRun, FlowStep

# STEP-INDEX as in the names of jobs, or STEP[INDEX] as in messages.
_INDEXED = re.compile(r"^(?P<step>.+?)(?:-(?P<dash>\d+)|\[(?P<bracket>\d+)\])$")


def label(step: FlowStep) -> str:
    return step.name if step.index is None else f"{step.name}[{step.index}]"


def find_steps(run: FlowRun, written: str) -> list[FlowStep]:
    """All executions of STEP, or the one of STEP-INDEX. NotFound with the nearest name."""
    found = [one for one in run.steps if one.name == written]
    indexed = _INDEXED.match(written)
    if not found and indexed is not None:
        index = int(indexed["dash"] or indexed["bracket"])
        found = [one for one in run.steps if one.name == indexed["step"] and one.index == index]
    if not found:
        names = dict.fromkeys(one.name for one in run.steps)
        if indexed is not None and indexed["step"] in names:
            count = sum(one.name == indexed["step"] and one.index is not None for one in run.steps)
            hint = f"It has {count} executions, counted from 0." if count else "It runs once: leave out the number."
        else:
            hint = nearest(written, names)
        raise NotFound(f"Run {run.written} has no step {written!r}.", hint=hint, noun="step", name=written)
    return found


def seconds(started_at: datetime | None, ended_at: datetime | None, now: datetime | None = None) -> float | None:
    """How long something took, or has taken until now; None if it has not begun."""
    if started_at is None:
        return None
    return max(0.0, ((ended_at or now or datetime.now(UTC)) - started_at).total_seconds())


def state_counts(steps: Sequence[FlowStep]) -> Counter[str]:
    """How many executions are in each state, in the order of a step's life."""
    found = Counter(step.state for step in steps)
    return Counter({state.value: found[state.value] for state in StepState if found[state.value]})
