"""The waiting line: who is next, under which rule each job waits, when it is expected to start."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millpond.decide.scheduling.line import Waiting, waiting_line
from millpond.decide.wait_words import words_of
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.jobs.loaded import Block, load
from millpond.services.jobs.plan_input import plan_input
from millpond.services.jobs.schedule import rules_now
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class PendingJob:
    """A job in line. Of a project that may not be seen, only its place and its size."""

    position: int
    id: str | None
    job: str | None
    project: str | None
    gpus: int  # hundredths, of the whole gang
    priority: int
    queued_at: datetime
    rule: str
    reason: str
    expected_start: datetime | None


def pending(deps: Deps, actor: Actor, *, project: str | None = None) -> Sequence[PendingJob]:
    """Everybody who waits, the next one first; of one project if it is named. The plan is made anew, so that the answer
    is of this moment."""
    with deps.db.read() as tx:
        wanted = None if project is None else access.find_project(tx, actor, project).name
        loaded = load(tx, deps.clock.now(), deps.settings)
    found = plan_input(loaded)
    burst = found.plan()
    snapshot = burst.snapshot
    # A nominated job has one rule; of the others, patience may be what they really wait for.
    blocks = {**rules_now(loaded, found, burst), **loaded.held}
    known = [*(one.job for one in snapshot.pending), *(one.job for one in snapshot.running)]
    sizes = {job.id: job.size.gpus for job in known}
    visible = access.visible_projects(actor)
    line = waiting_line(burst.planner, snapshot)
    return [
        _pending(position, one, row, sizes[one.job], blocks.get(one.job), seen=_sees(visible, row))
        for position, one in enumerate(line, 1)
        for row in (loaded.rows[one.job],)
        if wanted is None or row.project == wanted
    ]


def _sees(visible: Collection[str] | None, row: Any) -> bool:
    return visible is None or row.project_id in visible


def _pending(position: int, one: Waiting, row: Any, gpus: int, block: Block | None, *, seen: bool) -> PendingJob:
    rule = block.rule if block else one.rule
    return PendingJob(
        position=position,
        id=row.id if seen else None,
        job=row.name if seen else None,
        project=row.project if seen else None,
        gpus=gpus,
        priority=row.priority,
        queued_at=row.queued_at,
        rule=rule,
        reason=(block.words if block and seen else "") or words_of(rule),
        expected_start=None if one.expected is None else datetime.fromtimestamp(one.expected, UTC),
    )
