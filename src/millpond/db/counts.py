"""Numbers over the whole database, for /metrics and the doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, select, text

from millpond.db import volumes
from millpond.db.tables import (
    agent,
    cluster,
    commit,
    dataset,
    endpoint,
    flow_run,
    job,
    mirror,
    pack,
    refusal,
    run,
    source,
    volume,
    workspace,
)
from millpond.model.dataset import PackState
from millpond.model.job import JobState


@dataclass(frozen=True, slots=True)
class Totals:
    cached_bytes: int
    volume_bytes: int
    volumes: int
    volume_problems: int
    agents: int


def jobs_by_state(tx: Connection) -> Mapping[str, int]:
    query = select(job.c.state, func.count().label("number")).where(job.c.deleted_at.is_(None)).group_by(job.c.state)
    return {row.state: row.number for row in tx.execute(query)}


def totals(tx: Connection, *, agents_since: datetime) -> Totals:
    """Agents count as connected when they were seen since `agents_since`."""
    count, problems, capacity = tx.execute(
        select(
            func.count(),
            func.count(volume.c.problem),
            func.coalesce(func.sum(volume.c.capacity_bytes - volume.c.reserve_bytes), 0),
        )
    ).one()
    taken = volumes.cached_bytes(tx, among=None)
    agents = tx.scalar(select(func.count()).where(agent.c.seen_at >= agents_since, agent.c.revoked_at.is_(None)))
    return Totals(taken, int(capacity), count, problems, agents or 0)


@dataclass(frozen=True, slots=True)
class LakeRow:
    """What a project has in the lake: packs that are there, and of those what nothing needs any more."""

    project_id: str
    packs: int
    bytes: int
    condemned_bytes: int


@dataclass(frozen=True, slots=True)
class WorkspaceRow:
    """Workspaces of a project on a volume, those in the bin too: they take room until they are purged."""

    project_id: str
    volume_id: str
    workspaces: int
    size_bytes: int
    unique_bytes: int
    shared_bytes: int


def living_jobs(tx: Connection) -> Mapping[tuple[str, str], int]:
    """Jobs that have not ended, by project id and state."""
    query = select(job.c.project_id, job.c.state, func.count()).where(job.c.ended_at.is_(None))
    return {(row[0], row[1]): row[2] for row in tx.execute(query.group_by(job.c.project_id, job.c.state))}


def waiting_jobs(tx: Connection) -> Mapping[str, int]:
    """Queued jobs by the rule under which they wait; empty for those that no plan has seen yet."""
    rule = func.coalesce(job.c.rule, "")
    query = select(rule, func.count()).where(job.c.state == JobState.QUEUED.value, job.c.deleted_at.is_(None))
    return {row[0]: row[1] for row in tx.execute(query.group_by(rule))}


def oldest_queued(tx: Connection) -> datetime | None:
    """Since when the job waits that has waited longest, of those that nobody suspended."""
    since = func.coalesce(job.c.requeued_at, job.c.queued_at, type_=job.c.queued_at.type)
    waits = (job.c.state == JobState.QUEUED.value, job.c.deleted_at.is_(None), job.c.suspended_at.is_(None))
    return tx.scalar(select(func.min(since, type_=job.c.queued_at.type)).where(*waits))


def lake(tx: Connection) -> Sequence[LakeRow]:
    going = pack.c.state.in_((PackState.CONDEMNED.value, PackState.DELETING.value))
    query = select(
        pack.c.project_id,
        func.count(),
        func.coalesce(func.sum(pack.c.bytes), 0),
        func.coalesce(func.sum(case((going, pack.c.bytes), else_=0)), 0),
    ).where(pack.c.state != PackState.PROMISED.value)
    return [LakeRow(row[0], row[1], int(row[2]), int(row[3])) for row in tx.execute(query.group_by(pack.c.project_id))]


def nouns(tx: Connection) -> Mapping[str, int]:
    """How many datasets, commits and runs there are."""
    return {
        table: tx.scalar(select(func.count()).select_from(one)) or 0
        for table, one in (("datasets", dataset), ("commits", commit), ("runs", run))
    }


def workspaces(tx: Connection) -> Sequence[WorkspaceRow]:
    sums = (func.coalesce(func.sum(column), 0) for column in (
        workspace.c.size_bytes, workspace.c.unique_bytes, workspace.c.shared_bytes,
    ))  # fmt: skip
    keys = (workspace.c.project_id, workspace.c.volume_id)
    query = select(*keys, func.count(), *sums).group_by(*keys)
    return [WorkspaceRow(row[0], row[1], row[2], *(int(one) for one in row[3:])) for row in tx.execute(query)]


def by_state(tx: Connection, noun: str) -> Mapping[str, int]:
    """Of `endpoints`, `clusters`, `workspaces` and `flow_runs` that have not ended: how many are in each state."""
    column, living = {
        "endpoints": (endpoint.c.state, endpoint.c.deleted_at.is_(None)),
        "clusters": (cluster.c.state, cluster.c.deleted_at.is_(None)),
        "workspaces": (workspace.c.state, workspace.c.deleted_at.is_(None)),
        "flow_runs": (flow_run.c.phase, flow_run.c.ended_at.is_(None)),
    }[noun]
    return {row[0]: row[1] for row in tx.execute(select(column, func.count()).where(living).group_by(column))}


def brought(tx: Connection, noun: str) -> Mapping[str, int]:
    """How many `mirrors` or `sources` are ok, failing or paused."""
    table = {"mirrors": mirror, "sources": source}[noun]
    state = case((table.c.paused_at.is_not(None), "paused"), (table.c.problem.is_not(None), "failing"), else_="ok")
    return {row[0]: row[1] for row in tx.execute(select(state.label("state"), func.count()).group_by("state"))}


def refused_commits(tx: Connection) -> Mapping[str, int]:
    """By volume: commits that it had no room for when they were last asked for."""
    query = select(refusal.c.volume_id, func.count()).group_by(refusal.c.volume_id)
    return {row[0]: row[1] for row in tx.execute(query)}


def database_bytes(tx: Connection) -> int:
    if tx.dialect.name == "sqlite":
        pages = tx.scalar(text("PRAGMA page_count")) or 0
        return int(pages) * int(tx.scalar(text("PRAGMA page_size")) or 0)
    return int(tx.scalar(text("SELECT pg_database_size(current_database())")) or 0)
