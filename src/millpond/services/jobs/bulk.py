"""Changes to many jobs at once, each with its own result.

One transaction per job: one failure does not affect the others, and two requests cannot deadlock. Agents and the
scheduler are woken once, not once per job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    SUSPEND = "suspend"
    RESUME = "resume"


_CHANGES = {
    BulkChange.STOP: jobs.stopping,
    BulkChange.DELETE: jobs.deleting,
    BulkChange.UNDELETE: jobs.undeleting,
    BulkChange.SUSPEND: jobs.suspending,
    BulkChange.RESUME: jobs.resuming,
}


@dataclass(frozen=True, slots=True)
class JobResult:
    """Result for one job: the changed job, or why nothing was done."""

    asked: str
    view: JobView | None = None
    problem: MillError | None = None


def change(deps: Deps, actor: Actor, project: Project, what: BulkChange, asked: Sequence[str]) -> list[JobResult]:
    """Apply the change to each; results come in the order asked. Repeating a change has no effect."""
    found: dict[str, Job] = {}
    problems: dict[str, MillError] = {}
    changed: list[Job] = []
    try:
        for text in dict.fromkeys(asked):
            try:
                found[text], is_changed = jobs.change(deps, actor, project, text, _CHANGES[what](deps, actor))
            except MillError as error:
                problems[text] = error
            else:
                changed += [found[text]] if is_changed else []
    finally:
        job_changes.announce(deps, changed)
    return _outcomes(deps, asked, found, problems)


def _outcomes(
    deps: Deps, asked: Sequence[str], found: Mapping[str, Job], problems: Mapping[str, MillError]
) -> list[JobResult]:
    with deps.db.read() as tx:
        shown = dict(zip(found, jobs.views(tx, list(found.values()), deps.clock.now()), strict=True))
    return [JobResult(text, shown.get(text), problems.get(text)) for text in dict.fromkeys(asked)]
