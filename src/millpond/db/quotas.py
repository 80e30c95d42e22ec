"""Quotas of projects and what is used of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from millpond.db import volumes
from millpond.db.tables import cached, commit, dataset, job, pack, project_calls, project_quota, user
from millpond.model.cached_state import CachedState
from millpond.model.dataset import PackState
from millpond.model.job import JobState
from millpond.model.quota import NO_QUOTA, ProjectQuota

_HOLDERS = 10
# A pack that was promised is counted for so long; whoever got its URL has used it by then, or never will.
_PROMISED = timedelta(hours=1)
_AT_WORK = (JobState.PLACED.value, JobState.PREPARING.value, JobState.RUNNING.value, JobState.PREEMPTED.value)
Holders = Sequence[tuple[str, int]]


def get(tx: Connection, project_id: str) -> ProjectQuota:
    row = tx.execute(select(project_quota).where(project_quota.c.project_id == project_id)).first()
    return _quota(row) if row else NO_QUOTA


def locked(tx: Connection, project_id: str) -> ProjectQuota:
    """The quota, while nobody else counts against it: whoever would waits until this transaction is over."""
    key = project_quota.c.project_id == project_id
    found = tx.execute(project_quota.update().where(key).values(project_id=project_id).returning(project_quota)).first()
    return _quota(found) if found else NO_QUOTA


def all_of(tx: Connection) -> Mapping[str, ProjectQuota]:
    """By project, of those that have one."""
    return {row.project_id: _quota(row) for row in tx.execute(select(project_quota))}


def put(tx: Connection, project_id: str, value: ProjectQuota, *, by: str, now: datetime) -> None:
    tx.execute(project_quota.delete().where(project_quota.c.project_id == project_id))
    if not value.is_empty:
        tx.execute(
            project_quota.insert().values(
                project_id=project_id, lake_bytes=value.lake_bytes, cached_bytes=value.cached_bytes, jobs=value.jobs,
                calls_per_minute=value.calls_per_minute, set_by=by, set_at=now,
            )
        )  # fmt: skip


def lake_bytes(tx: Connection, project_id: str, now: datetime) -> int:
    """In packs that are there, or for which a URL was given a moment ago."""
    counts = or_(pack.c.state != PackState.PROMISED.value, pack.c.promised_at > now - _PROMISED)
    found = tx.scalar(select(func.sum(pack.c.bytes)).where(pack.c.project_id == project_id, counts))
    return int(found or 0)


def lake_holders(tx: Connection, project_id: str) -> Holders:
    """By who sent it: `user:ID`, `placement:ID` and the like."""
    size = func.sum(pack.c.bytes)
    there = (pack.c.project_id == project_id) & (pack.c.state != PackState.PROMISED.value)
    rows = tx.execute(select(pack.c.owner, size).where(there).group_by(pack.c.owner))
    return _greatest([(owner, int(amount or 0)) for owner, amount in rows])


def cached_bytes(tx: Connection, project_id: str) -> int:
    """On all volumes: what several cached commits share counts once; what is being filled, as it was promised."""
    filling = (cached.c.project_id == project_id) & (cached.c.state == CachedState.FILLING.value)
    promised = tx.scalar(select(func.sum(cached.c.reserved_bytes)).where(filling))
    return volumes.cached_bytes(tx, among=[project_id]) + int(promised or 0)


def cached_holders(tx: Connection, project_id: str) -> Holders:
    """By dataset; each commit counts by itself."""
    states = (CachedState.FILLING.value, CachedState.READY.value)
    query = (
        select(dataset.c.name, func.sum(cached.c.reserved_bytes))
        .select_from(cached.join(commit, commit.c.id == cached.c.commit_id))
        .join(dataset, dataset.c.id == commit.c.dataset_id)
        .where(cached.c.project_id == project_id, cached.c.state.in_(states))
        .group_by(dataset.c.name)
    )
    return _greatest([(name, int(amount or 0)) for name, amount in tx.execute(query)])


def jobs_at_work(tx: Connection, project_id: str) -> Holders:
    """By who submitted them; all of them."""
    query = select(job.c.created_by, func.count()).where(job.c.project_id == project_id, job.c.state.in_(_AT_WORK))
    return sorted(((name, int(count)) for name, count in tx.execute(query.group_by(job.c.created_by))), key=_rank)


def calls(tx: Connection, project_id: str, minute: int) -> Holders:
    """By who made them in that minute, over all servers."""
    key = (project_calls.c.project_id == project_id) & (project_calls.c.minute == minute)
    query = select(project_calls.c.who, func.sum(project_calls.c.calls)).where(key).group_by(project_calls.c.who)
    return sorted(((who, int(count)) for who, count in tx.execute(query)), key=_rank)


def calls_of_others(tx: Connection, server_id: str, minute: int) -> Mapping[str, int]:
    """By project, in that minute, over all other servers."""
    key = (project_calls.c.server_id != server_id) & (project_calls.c.minute == minute)
    query = select(project_calls.c.project_id, func.sum(project_calls.c.calls)).where(key)
    return {row[0]: int(row[1]) for row in tx.execute(query.group_by(project_calls.c.project_id))}


def put_calls(tx: Connection, server_id: str, counted: Mapping[tuple[str, int, str], int]) -> None:
    """What this server counted by project, minute and caller; what it said before is replaced."""
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    rows: list[dict[str, Any]] = [
        {"project_id": project_id, "minute": minute, "server_id": server_id, "who": who, "calls": number}
        for (project_id, minute, who), number in counted.items()
    ]
    statement = insert(project_calls)
    key = ["project_id", "minute", "server_id", "who"]
    tx.execute(statement.on_conflict_do_update(index_elements=key, set_={"calls": statement.excluded.calls}), rows)


def forget_calls(tx: Connection, before: int) -> None:
    tx.execute(project_calls.delete().where(project_calls.c.minute < before))


def names_of_users(tx: Connection, ids: Sequence[str]) -> Mapping[str, str]:
    return {row.id: row.name for row in tx.execute(select(user.c.id, user.c.name).where(user.c.id.in_(ids)))}


def _greatest(found: list[tuple[str, int]]) -> Holders:
    totals: dict[str, int] = defaultdict(int)
    for name, amount in found:
        totals[name] += amount
    return sorted(((name, amount) for name, amount in totals.items() if amount), key=_rank)[:_HOLDERS]


def _rank(one: tuple[str, int]) -> tuple[int, str]:
    return -one[1], one[0]


def _quota(row: Row[Any]) -> ProjectQuota:
    return ProjectQuota(row.lake_bytes, row.cached_bytes, row.jobs, row.calls_per_minute)
