"""A run as it was read, and how it is changed: only if nobody else has changed it since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from millpond.db import flow_runs
from millpond.decide.flows.context import FlowContext
from millpond.model.flow_run import FlowRun, FlowRunState, FlowStep, StepRun
from millpond.model.people import Project
from millpond.services.flows.step_files import to_run


class Stale(Exception):
    """The run was changed by somebody else since it was loaded."""


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run as it was when it was read."""

    run: FlowRun
    project: Project
    rows: Sequence[FlowStep]
    context: FlowContext

    @property
    def state(self) -> FlowRunState:
        steps: dict[str, tuple[StepRun, ...]] = {}
        for row in self.rows:
            steps[row.step] = (*steps.get(row.step, ()), to_run(row))
        run = self.run
        return FlowRunState(run.id, run.params, steps, run.trigger.commit, run.cancelled_by is not None)

    @property
    def by_place(self) -> Mapping[tuple[str, int], FlowStep]:
        """By step and index."""
        return {(row.step, row.index): row for row in self.rows}


def guarded(tx: Connection, run: FlowRun, **changes: object) -> FlowRun:
    """Change the run if it is as it was read; Stale otherwise."""
    current = flow_runs.lock(tx, run.id)
    if current is None or current.revision != run.revision:
        raise Stale
    changed = replace(current, **changes)  # type: ignore[arg-type]
    flow_runs.save(tx, changed)
    return replace(changed, revision=changed.revision + 1)
