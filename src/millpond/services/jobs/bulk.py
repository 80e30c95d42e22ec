"""Many jobs at once: each is changed for itself, and what became of each is told.

One transaction a job: none is kept from its end by another that cannot be found, and no two requests wait for jobs
that the other has locked. Agents and the scheduler look again once, not once a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from millpond.errors import MillError
from millpond.model.job import Job
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, jobs
from millpond.services.jobs.jobs import JobView

MOST = 1_000


class BulkChange(Enum):
    STOP = "stop"
    DELETE = "delete"
    UNDELETE = "undelete"


_CHANGES = {BulkChange.STOP: jobs.stopping, BulkChange.DELETE: jobs.deleting, BulkChange.UNDELETE: jobs.undeleting}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one that was asked for: the job as it is now, or why nothing was done to it."""

    asked: str
    view: JobView | None = None
    problem: MillError | None = None


def change(deps: Deps, actor: Actor, project: Project, what: BulkChange, asked: Sequence[str]) -> list[Outcome]:
    """In the order asked. Asking again for what is done already changes nothing."""
    changed: list[Job] = []
    try:
        return [_change_one(deps, actor, project, what, text, changed) for text in dict.fromkeys(asked)]
    finally:
        job_changes.announce(deps, changed)


def _change_one(
    deps: Deps, actor: Actor, project: Project, what: BulkChange, text: str, changed: list[Job]
) -> Outcome:  # fmt: skip
    try:
        view, is_changed = jobs.change(deps, actor, project, text, _CHANGES[what](deps, actor))
    except MillError as error:
        return Outcome(text, problem=error)
    if is_changed:
        changed.append(view.job)
    return Outcome(text, view)
