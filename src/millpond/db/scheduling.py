"""What plans are made from and what they leave behind: waiting and running jobs in bulk, nominations, reservations.

Tens of thousands of jobs wait: what differs between them is read from columns, what is asked once for each class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, case, exists, func, or_, select

from millpond.db.tables import job, nomination, placement, project, reservation, server
from millpond.decide.scheduling.snapshot import Reservation
from millpond.model.job import JobState, RankPlace
from millpond.model.job_spec import JobSpec

_QUEUED = job.c.state == JobState.QUEUED.value
# Listed, so that the index on states finds them: jobs that have ended are nearly all there are.
_UNENDED = [state.value for state in JobState if not state.is_finished]
_PLANNED = (job.c.id, project.c.name.label("project"), job.c.project_id, job.c.class_key, job.c.priority,
            job.c.queued_at, job.c.timeout_seconds, job.c.preemptible)  # fmt: skip
# Most were never preempted: reading an empty list for each of ten thousand jobs takes as long as all else.
_PREEMPTED_AT = case((job.c.preemptions > 0, job.c.preempted_at)).label("preempted_at")
_WAITING = (
    select(
        *_PLANNED, job.c.name, job.c.dependent, job.c.not_before, job.c.requeued_at, _PREEMPTED_AT,
        job.c.rule, job.c.waits_for, job.c.template,
    )
    .join(project, project.c.id == job.c.project_id)
    .where(_QUEUED)
    .order_by(job.c.id)
)  # fmt: skip
_RUNNING = (
    select(
        *_PLANNED, job.c.state, job.c.stop_requested_at, job.c.saved_at, placement.c.started_at, placement.c.created_at,
        placement.c.compute_id, placement.c.node, placement.c.gpu_indices, placement.c.places,
    )
    .select_from(placement)
    .join(job, job.c.id == placement.c.job_id)
    .join(project, project.c.id == job.c.project_id)
    .where(placement.c.ended_at.is_(None))
    .order_by(job.c.id)
)  # fmt: skip
_NOMINATED = (
    select(
        *_PLANNED, job.c.name, job.c.state, nomination.c.compute_id, nomination.c.places, nomination.c.rule,
        nomination.c.victims, nomination.c.at,
    )
    .select_from(nomination)
    .join(job, job.c.id == nomination.c.job_id)
    .join(project, project.c.id == job.c.project_id)
    .order_by(nomination.c.at, job.c.id)
)  # fmt: skip
_ONE_OF_EACH = (
    select(func.min(job.c.id))
    .where(job.c.class_key.in_(bindparam("classes", expanding=True)), job.c.state.in_(_UNENDED))
    .group_by(job.c.class_key)
)
_SPECS = select(job.c.class_key, job.c.spec).where(job.c.id.in_(_ONE_OF_EACH))
_HAS_WORK = select(
    or_(exists().where(_QUEUED), exists(select(nomination.c.job_id)), exists(select(reservation.c.job_id)))
)
_NOTE_RULE = job.update().where(job.c.id == bindparam("waiting"), _QUEUED)


@dataclass(frozen=True, slots=True)
class Nomination:
    """Where a queued job will run once its victims have ended, and the rule that they were preempted under."""

    job_id: str
    compute_id: str
    places: tuple[RankPlace, ...]
    rule: str
    victims: tuple[str, ...]
    at: datetime


def waiting(tx: Connection) -> Sequence[Any]:
    """Every queued job: a row with what a plan looks at."""
    return tx.execute(_WAITING).all()


def has_work(tx: Connection) -> bool:
    """True if a job is queued, or a plan has left behind what the next one may have to take away."""
    return bool(tx.scalar(_HAS_WORK))


def running(tx: Connection, compute_ids: Collection[str] | None = None) -> Sequence[Any]:
    """Every job that holds room on these computes, None meaning all: a row with what a plan looks at."""
    chosen = _RUNNING if compute_ids is None else _RUNNING.where(placement.c.compute_id.in_(sorted(compute_ids)))
    return tx.execute(chosen).all()


def nominated(tx: Connection) -> Sequence[Any]:
    """Every nominated job, also one that was stopped since: a row as of `running`, with its nomination."""
    return tx.execute(_NOMINATED).all()


def specs(tx: Connection, classes: Collection[str]) -> Mapping[str, JobSpec]:
    """One specification of each class that has jobs which have not ended."""
    rows = tx.execute(_SPECS, {"classes": sorted(classes)}) if classes else ()
    return {row.class_key: JobSpec.from_document(row.spec) for row in rows}


def note_rules(tx: Connection, changed: Iterable[tuple[str, str, str | None]]) -> None:
    """Under which rule jobs wait that are still queued: id, rule, and what it waits for."""
    rows = [{"waiting": job_id, "rule": rule, "waits_for": words} for job_id, rule, words in changed]
    if rows:
        tx.execute(_NOTE_RULE, rows)


# Nominations and reservations


def nominate(tx: Connection, value: Nomination) -> None:
    tx.execute(
        nomination.insert().values(
            job_id=value.job_id, compute_id=value.compute_id, places=[asdict(place) for place in value.places],
            rule=value.rule, victims=list(value.victims), at=value.at,
        )
    )  # fmt: skip


def nominations(tx: Connection) -> Sequence[Nomination]:
    """Oldest first."""
    rows = tx.execute(select(nomination).order_by(nomination.c.at, nomination.c.job_id))
    return [
        Nomination(row.job_id, row.compute_id, rank_places(row.places), row.rule, tuple(row.victims), row.at)
        for row in rows
    ]


def end_nominations(tx: Connection, job_ids: Collection[str]) -> None:
    tx.execute(nomination.delete().where(nomination.c.job_id.in_(sorted(job_ids))))


def reservations(tx: Connection) -> tuple[Reservation, ...]:
    rows = tx.execute(select(reservation).order_by(reservation.c.job_id))
    return tuple(Reservation(row.job_id, tuple(row.nodes), row.claim, row.expected) for row in rows)


def keep_reservations(tx: Connection, before: Collection[Reservation], after: Collection[Reservation]) -> None:
    """Write what differs."""
    gone = [one.job for one in before if one not in after]
    if gone:
        tx.execute(reservation.delete().where(reservation.c.job_id.in_(sorted(gone))))
    new = [one for one in after if one not in before]
    if new:
        rows = [
            {"job_id": one.job, "nodes": list(one.nodes), "claim": one.claim, "expected": one.expected} for one in new
        ]
        tx.execute(reservation.insert(), rows)


# Servers that plan side by side


def plan_number(tx: Connection) -> int:
    """Counts what was applied of plans."""
    return tx.scalar(select(server.c.plans)) or 0


def next_plan_number(tx: Connection, seen: int) -> bool:
    """Count one more. False if another server has applied something since `seen` was read: the plan is out of date."""
    return tx.execute(server.update().where(server.c.plans == seen).values(plans=seen + 1)).rowcount > 0


def rank_places(written: Sequence[Mapping[str, Any]]) -> tuple[RankPlace, ...]:
    return tuple(RankPlace(one["node"], tuple(one["gpu_indices"])) for one in written)
