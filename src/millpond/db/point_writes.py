"""Points that a client logs: whether its token may write to the run, asked in the transaction that writes them.

One query answers it, with what the usual ways ask in ten (`services.people.tokens`, `access`, `services.runs.find`),
and says yes only to the plain case. Whatever it does not know is left to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, bindparam, case, or_, select

from millpond.db import metrics, runs
from millpond.db.direct import Answer, Direct, DirectTx
from millpond.db.tables import job, member, placement, project, run, token, user
from millpond.decide.point_batch import PointBatch
from millpond.model.people import Role, TokenKind
from millpond.model.run import RunState

# Then its use is noted, by the usual ways.
_TOKEN_USED = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class WritableRun:
    """What is known of a run that a token may write to. It is locked."""

    id: str
    project_id: str
    state: RunState
    # Batches of points that wait to be folded into chunks.
    unfolded: int


@dataclass(frozen=True, slots=True)
class PointWrite:
    """A batch of points that goes to a run; one of a writer with a sequence counts once."""

    run: WritableRun
    batch: PointBatch
    writer: str | None
    sequence: int


def find_writable(tx: DirectTx, run_id: str, *, project: str, token: bytes, now: datetime) -> Answer:
    """For `writable`, to be read when all are asked for."""
    values = {"run": run_id, "project": project, "hash": token, "now": now, "used": now - _TOKEN_USED}
    return _FIND.ask(tx, values)


def writable(run_id: str, answer: Answer) -> WritableRun | None:
    """None if it is not there, not this token's, not plainly running or ended, or locked by somebody else."""
    row = answer()
    return None if row is None else WritableRun(run_id, row[0], RunState(row[1]), row[2])


def write_all(tx: DirectTx, writes: Sequence[PointWrite], now: datetime) -> bool:
    """False if one of them has come before: then the transaction must be rolled back."""
    asked = [runs.ask_sequence(tx, one.run.id, one.writer, one.sequence) for one in writes if one.writer is not None]
    merged = [metrics.merge_summaries(tx, one.run, one.batch) for one in writes]
    if not all(answer() for answer in asked):
        return False
    for one, answers in zip(writes, merged, strict=True):
        metrics.insert_batch(tx, one.run, answers, one.batch)
        _COUNT.run(tx, {"run": one.run.id, "now": now})
    return True


def _finding(_insert: Any) -> Any:
    is_active = and_(
        or_(token.c.expires_at.is_(None), token.c.expires_at > bindparam("now", type_=token.c.expires_at.type)),
        token.c.revoked_at.is_(None),
        token.c.scopes.is_(None),
        token.c.last_used_at > bindparam("used", type_=token.c.last_used_at.type),
    )
    roles = or_(*(member.c.role == role.value for role in Role if role.includes(Role.MEMBER)))
    is_member = and_(token.c.kind == TokenKind.USER.value, user.c.disabled_at.is_(None), or_(user.c.is_admin, roles))
    # A job's token writes to the job's own run, while its placement is the current one.
    is_own = and_(
        token.c.kind == TokenKind.PLACEMENT.value,
        placement.c.ended_at.is_(None),
        job.c.placement_id == placement.c.id,
        job.c.id == run.c.job_id,
    )
    return (
        select(run.c.project_id, run.c.state, run.c.unfolded)
        .select_from(run)
        .join(project, project.c.id == run.c.project_id)
        .join(token, token.c.hash == bindparam("hash"))
        .outerjoin(user, user.c.id == token.c.user_id)
        .outerjoin(member, and_(member.c.user_id == token.c.user_id, member.c.project_id == run.c.project_id))
        .outerjoin(placement, placement.c.id == token.c.placement_id)
        .outerjoin(job, job.c.id == placement.c.job_id)
        .where(
            run.c.id == bindparam("run"),
            project.c.name == bindparam("project"),
            run.c.deleted_at.is_(None),
            run.c.state != RunState.LOST.value,
            is_active,
            or_(is_member, is_own),
        )
        .with_for_update(of=run, skip_locked=True)
    )


def _counting(_insert: Any) -> Any:
    now = bindparam("now", type_=run.c.seen_at.type)
    seen = case((run.c.seen_at < now, now), else_=run.c.seen_at)
    return run.update().where(run.c.id == bindparam("run")).values(seen_at=seen, unfolded=run.c.unfolded + 1)


_FIND = Direct(_finding)
_COUNT = Direct(_counting)
