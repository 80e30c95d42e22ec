"""GPU shares: what each project is guaranteed, holds, may expect and waits for, in each pool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import gpu_shares, nodes, projects
from millpond.db.gpu_shares import Queued
from millpond.decide.scheduling.shares import Claimant, default_weight, divide_shares
from millpond.decide.scheduling.snapshot import WHOLE
from millpond.model.people import Project
from millpond.model.project_shares import POOL_LABEL
from millpond.model.quantity import format_gpus
from millpond.services.computes.presence import is_connected


@dataclass(frozen=True, slots=True)
class PoolShare:
    """One project in one pool, in hundredths of a GPU. Pending jobs count in every pool."""

    project: Project
    pool: str
    quota: int
    weight: int
    share: int
    allocated: int
    pending_gpus: int
    pending_jobs: int


@dataclass(frozen=True, slots=True)
class ProjectShare:
    """One project over all pools, in hundredths of a GPU."""

    weight: int
    share: int
    allocated: int
    pending_gpus: int
    pending_jobs: int


def of_pools(tx: Connection, now: datetime) -> Sequence[PoolShare]:
    """Every project in every pool, by pool and name."""
    known = projects.all_of(tx)
    held, waiting, capacity = gpu_shares.allocated(tx), gpu_shares.queued(tx), capacities(tx, now)
    pools = sorted({*capacity, *(pool for _, pool in held)} or {""})
    return [one for pool in pools for one in _of_pool(pool, capacity.get(pool, 0), known, held, waiting)]


def of_projects(tx: Connection, now: datetime) -> Mapping[str, ProjectShare]:
    """By project id."""
    found: dict[str, list[PoolShare]] = defaultdict(list)
    for one in of_pools(tx, now):
        found[one.project.id].append(one)
    return {
        project_id: ProjectShare(
            max(one.weight for one in pools), sum(one.share for one in pools), sum(one.allocated for one in pools),
            pools[0].pending_gpus, pools[0].pending_jobs,
        )
        for project_id, pools in found.items()
    }  # fmt: skip


def capacities(tx: Connection, now: datetime) -> Mapping[str, int]:
    """The GPUs of each pool whose nodes are connected, in hundredths."""
    found: dict[str, int] = defaultdict(int)
    for node in nodes.present(tx):
        found[node.labels.get(POOL_LABEL, "")] += node.gpus * WHOLE if is_connected(node.seen_at, now) else 0
    return found


def warnings(tx: Connection, now: datetime) -> list[str]:
    """Pools whose quotas add up to more than they have: their claims are served first come."""
    capacity = capacities(tx, now)
    promised: dict[str, int] = defaultdict(int)
    for project in projects.all_of(tx):
        for pool, quota in project.shares.quotas.items():
            promised[pool] += quota
    return [
        f"Quotas {f'in pool {pool} ' if pool else ''}add up to {format_gpus(total)} GPUs, but only "
        f"{format_gpus(capacity.get(pool, 0))} are connected. Jobs within quota are then served first come."
        for pool, total in sorted(promised.items())
        if total > capacity.get(pool, 0)
    ]


def _of_pool(
    pool: str,
    capacity: int,
    known: Sequence[Project],
    held: Mapping[tuple[str, str], int],
    waiting: Mapping[str, Queued],
) -> list[PoolShare]:
    """While no project has a quota there, each has all of it and they weigh the same (docs/design/014, k)."""
    free = not any(project.shares.quotas.get(pool) for project in known)
    rows = []
    for project in known:
        queued, quota = waiting.get(project.id, Queued()), project.shares.quotas.get(pool, 0)
        default = WHOLE if free else default_weight(quota)
        weight = default if project.shares.weight is None else project.shares.weight
        allocated = held.get((project.id, pool), 0)
        rows.append(PoolShare(project, pool, quota, weight, 0, allocated, queued.gpus, queued.jobs))
    shares = divide_shares(capacity, [_claimant(row, capacity, free=free) for row in rows])
    return [replace(row, share=int(shares[row.project.name])) for row in rows]


def _claimant(row: PoolShare, capacity: int, *, free: bool) -> Claimant:
    quota, settings = capacity if free else row.quota, row.project.shares
    most = capacity if settings.over_quota else quota
    most = most if settings.limit is None else min(most, settings.limit)
    demand = max(row.allocated, min(row.allocated + row.pending_gpus, most))
    return Claimant(row.project.name, quota, row.weight, demand)
