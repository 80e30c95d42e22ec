"""Leases: promises that a cached commit is not evicted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, or_, select

from millpond.db.tables import cached, job, lease, project, user
from millpond.model.ids import new_id
from millpond.model.volume import LeaseKind

# Whether somebody may know of things in a project (None: of no project).
Sees = Callable[[str | None], bool]

_OF_JOB = select(lease.c.cached_id).where(lease.c.job_id == bindparam("job"))


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease, by name. A job until it ends, a person until a time."""

    # The job's project, which may be another than the dataset's.
    project_id: str | None
    job: str | None
    user: str | None
    since: datetime
    until: datetime | None
    kind: LeaseKind = LeaseKind.JOB
    reason: str = ""

    def shown(self, sees: Sees, *, known: bool = True) -> str:
        """The holder as it may be named to someone who sees these projects; `known`: and what is held."""
        if self.kind is LeaseKind.WORKSPACE:
            return f"workspace {self.reason}" if known else "a workspace of another project"
        if self.job is None:
            return f"{self.user} ({self._until})" if known else "somebody"
        return f"job {self.job}" if sees(self.project_id) else "a job of another project"

    @property
    def _until(self) -> str:
        does = "reads it" if self.kind is LeaseKind.READ else "holds it"
        return f"{does} until {self.until:%Y-%m-%d %H:%M} UTC" if self.until else does


def hold_for_job(tx: Connection, cached_id: str, job_id: str, now: datetime) -> None:
    """One lease per job and cached commit; holding again changes nothing."""
    query = select(lease.c.id).where(lease.c.cached_id == cached_id, lease.c.job_id == job_id)
    if tx.execute(query).first() is None:
        tx.execute(lease.insert().values(id=new_id(), cached_id=cached_id, job_id=job_id, created_at=now))


def hold_for_workspace(tx: Connection, cached_id: str, workspace_id: str, *, written: str, now: datetime) -> None:
    """Until `release_workspace`: what a workspace is made from, or lies over."""
    values = {"cached_id": cached_id, "kind": LeaseKind.WORKSPACE.value, "reader": workspace_id, "reason": written}
    tx.execute(lease.insert().values(id=new_id(), created_at=now, **values))


def release_workspace(tx: Connection, workspace_id: str) -> None:
    mine = and_(lease.c.kind == LeaseKind.WORKSPACE.value, lease.c.reader == workspace_id)
    tx.execute(lease.delete().where(mine))


def release_job(tx: Connection, job_id: str) -> Sequence[str]:
    """End all leases of a job; the ids of the cached commits it held."""
    held = tx.scalars(_OF_JOB, {"job": job_id}).all()
    if held:
        tx.execute(lease.delete().where(lease.c.job_id == job_id))
    return held


def hold_for_user(
    tx: Connection,
    cached_id: str,
    user_id: str,
    *,
    kind: LeaseKind,
    until: datetime,
    reason: str,
    now: datetime,
    reader: str | None = None,
) -> bool:
    """One lease of a kind and reader per user and cached commit, now until then; whether it is new.

    Reading never shortens one.
    """
    mine = and_(
        lease.c.cached_id == cached_id,
        lease.c.user_id == user_id,
        lease.c.kind == kind.value,
        lease.c.reader.is_(None) if reader is None else lease.c.reader == reader,
    )
    found = tx.execute(select(lease.c.id, lease.c.expires_at).where(mine)).first()
    if found is None:
        values = {"cached_id": cached_id, "user_id": user_id, "kind": kind.value, "reader": reader, "created_at": now}
        tx.execute(lease.insert().values(id=new_id(), expires_at=until, reason=reason, **values))
        return True
    if kind is LeaseKind.HOLD or found.expires_at is None or until > found.expires_at:
        tx.execute(lease.update().where(lease.c.id == found.id).values(expires_at=until, reason=reason))
    return False


def release_user(tx: Connection, cached_id: str, user_id: str, *, reader: str | None = None) -> bool:
    """End what a user, or one reader of theirs, holds there; whether there was anything."""
    mine = and_(lease.c.cached_id == cached_id, lease.c.user_id == user_id)
    if reader is not None:
        mine = and_(mine, lease.c.reader == reader)
    return tx.execute(lease.delete().where(mine)).rowcount > 0


def release_wish(tx: Connection, cached_id: str, user_id: str) -> bool:
    """End what a user holds there by wish, not by reading; whether there was anything."""
    wish = and_(lease.c.cached_id == cached_id, lease.c.user_id == user_id, lease.c.kind == LeaseKind.HOLD.value)
    return tx.execute(lease.delete().where(wish)).rowcount > 0


def reads_until(tx: Connection, cached_ids: Collection[str], user_id: str, reader: str) -> Mapping[str, datetime]:
    """Until when a user's reader holds each of these; nothing for those it does not."""
    mine = and_(lease.c.cached_id.in_(cached_ids), lease.c.user_id == user_id, lease.c.reader == reader)
    rows = tx.execute(select(lease.c.cached_id, lease.c.expires_at).where(mine)) if cached_ids else ()
    return {row.cached_id: row.expires_at for row in rows}


def release_lost(tx: Connection, user_id: str, *, project_id: str | None = None, but: Collection[str] = ()) -> None:
    """End what a user holds of a project they have no role in any more; without one of all projects `but` these."""
    mine = lease.c.user_id == user_id
    lost = cached.c.project_id.not_in(but) if project_id is None else cached.c.project_id == project_id
    mine = and_(mine, lease.c.cached_id.in_(select(cached.c.id).where(lost)))
    tx.execute(lease.delete().where(mine))


def drop_expired(tx: Connection, now: datetime) -> None:
    """People's leases end at their time, and idle times count from then. A job's never ends by silence."""
    over = and_(lease.c.job_id.is_(None), lease.c.expires_at <= now)
    ended = select(lease.c.cached_id, func.max(lease.c.expires_at).label("at")).where(over).group_by(lease.c.cached_id)
    for row in tx.execute(ended).all():
        earlier = and_(cached.c.id == row.cached_id, cached.c.used_at < row.at)
        tx.execute(cached.update().where(earlier).values(used_at=row.at))
    tx.execute(lease.delete().where(over))


def holders(tx: Connection, cached_ids: Collection[str], now: datetime) -> Mapping[str, Sequence[Holder]]:
    """Who holds each of these, oldest first."""
    return _holders(tx, now, lease.c.cached_id.in_(cached_ids)) if cached_ids else {}


def holders_on(tx: Connection, volume_id: str, now: datetime) -> Mapping[str, Sequence[Holder]]:
    """Who holds each cached commit of a volume."""
    return _holders(tx, now, cached.c.volume_id == volume_id)


def holders_of_dataset(tx: Connection, dataset_id: str, now: datetime) -> Mapping[str, Sequence[Holder]]:
    return _holders(tx, now, cached.c.dataset_id == dataset_id)


def _holders(tx: Connection, now: datetime, condition: ColumnElement[bool]) -> Mapping[str, Sequence[Holder]]:
    query = (
        select(
            lease.c.cached_id,
            lease.c.created_at,
            lease.c.expires_at,
            lease.c.kind,
            lease.c.reason,
            job.c.name.label("job"),
            job.c.project_id,
            project.c.name.label("project"),
            user.c.name.label("user"),
        )
        .join(cached, cached.c.id == lease.c.cached_id)
        .outerjoin(job, job.c.id == lease.c.job_id)
        .outerjoin(project, project.c.id == job.c.project_id)
        .outerjoin(user, user.c.id == lease.c.user_id)
        .where(condition, or_(lease.c.expires_at.is_(None), lease.c.expires_at > now))
        .order_by(lease.c.created_at, lease.c.id)
    )
    found: dict[str, list[Holder]] = defaultdict(list)
    for row in tx.execute(query):
        written = f"{row.project}/{row.job}" if row.job else None
        holder = Holder(
            project_id=row.project_id,
            job=written,
            user=row.user,
            since=row.created_at,
            until=row.expires_at,
            kind=LeaseKind(row.kind),
            reason=row.reason,
        )
        found[row.cached_id].append(holder)
    return found
