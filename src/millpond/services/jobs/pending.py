"""The waiting line: who is next, under which rule each job waits, when it is expected to start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millpond.decide.scheduling.line import Waiting, waiting_line
from millpond.decide.scheduling.planner import Planner
from millpond.decide.wait_words import words_of
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.jobs import plan_input
from millpond.services.people import access
from millpond.services.places.geography import rule_of


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
        loaded = plan_input.load(tx, deps.clock.now(), rule_of(deps.settings))
    snapshot = plan_input.plan_input(loaded)
    planner = Planner(snapshot)
    planner.plan(snapshot.now)
    known = [*(one.job for one in snapshot.pending), *(one.job for one in snapshot.running)]
    sizes = {job.id: job.size.gpus for job in known}
    visible = access.visible_projects(actor)
    words = {job_id: block.words for job_id, block in loaded.held.items()}
    line = waiting_line(planner, snapshot)
    return [
        _pending(position, one, loaded.rows[one.job], sizes[one.job], words, seen=_sees(visible, loaded.rows[one.job]))
        for position, one in enumerate(line, 1)
        if wanted is None or loaded.rows[one.job].project == wanted
    ]


def _sees(visible: Collection[str] | None, row: Any) -> bool:
    return visible is None or row.project_id in visible


def _pending(
    position: int, one: Waiting, row: Any, gpus: int, words: Mapping[str, str], *, seen: bool
) -> PendingJob:  # fmt: skip
    reason = words.get(one.job, words_of(one.rule))
    return PendingJob(
        position=position,
        id=row.id if seen else None,
        job=row.name if seen else None,
        project=row.project if seen else None,
        gpus=gpus,
        priority=row.priority,
        queued_at=row.queued_at,
        rule=one.rule,
        reason=reason if seen else words_of(one.rule),
        expected_start=None if one.expected is None else datetime.fromtimestamp(one.expected, UTC),
    )
