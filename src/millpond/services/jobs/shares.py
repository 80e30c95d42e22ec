"""GPU shares: what each project is guaranteed, holds, may expect and waits for, in each pool; now and over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import gpu_shares, jobs, nodes, projects
from millpond.db.gpu_shares import ShareSample
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.shares import default_weight
from millpond.decide.scheduling.snapshot import WHOLE
from millpond.model.people import Actor, Project
from millpond.model.project_shares import POOL_LABEL
from millpond.model.quantity import format_gpus
from millpond.services import gpu_use
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.jobs import plan_input
from millpond.services.jobs.loaded import Loaded, load
from millpond.services.people import access

# How often shares are sampled, and for how long samples are kept: by their step in seconds.
STEP, COARSE_STEP = 60, 3600
KEPT = {STEP: timedelta(days=1), COARSE_STEP: timedelta(days=90)}


@dataclass(frozen=True, slots=True)
class PoolShare:
    """One project in one pool, in hundredths of a GPU. A job that several pools could run waits in each of them."""

    project: Project
    pool: str
    quota: int
    weight: int
    share: int
    allocated: int
    over_quota: int
    pending_gpus: int
    pending_jobs: int
    # Held by jobs that leave them idle.
    idle: int = 0


@dataclass(frozen=True, slots=True)
class ProjectShare:
    """One project over all pools, in hundredths of a GPU."""

    weight: int
    share: int = 0
    allocated: int = 0
    pending_gpus: int = 0
    pending_jobs: int = 0


def list_shares(deps: Deps, actor: Actor) -> Sequence[PoolShare]:
    """Of the projects that the actor may see, by pool and name."""
    visible = access.visible_projects(actor)
    with deps.db.read() as tx:
        found = of_pools(deps, tx, deps.clock.now())
    return [one for one in found if visible is None or one.project.id in visible]


def history(deps: Deps, actor: Actor, *, since: datetime, until: datetime) -> tuple[int, Sequence[ShareSample]]:
    """The step in seconds, and samples of the projects that the actor may see, oldest first."""
    step = STEP if deps.clock.now() - since <= KEPT[STEP] else COARSE_STEP
    with deps.db.read() as tx:
        return step, gpu_shares.samples(
            tx, among=access.visible_projects(actor), since=since, until=until, step=step
        )  # fmt: skip


def sample(deps: Deps, now: datetime) -> None:
    """Housekeeping: note how GPUs are shared, once a minute; every hour's first sample is kept for longer."""
    at = now.replace(second=0, microsecond=0)
    with deps.db.read() as tx:
        found = of_pools(deps, tx, now)
    rows = [
        ShareSample(
            at, one.project.id, one.project.name, one.pool, one.quota, one.share, one.allocated, one.pending_gpus,
            one.pending_jobs,
        )
        for one in found
    ]  # fmt: skip
    with deps.db.write() as tx:
        gpu_shares.add_samples(tx, rows)
        gpu_shares.forget_samples(tx, fine=now - KEPT[STEP], coarse=now - KEPT[COARSE_STEP])


def of_pools(deps: Deps, tx: Connection, now: datetime) -> Sequence[PoolShare]:
    """Every project in every pool, by pool and name: as a plan would see it now, or a moment ago for a long queue."""
    recent: Sequence[PoolShare] | None = deps.recent_shares.get(deps.clock.elapsed())
    if recent is not None:
        return recent
    loaded = load(tx, now, deps.settings)
    snapshot = plan_input.plan_input(loaded).snapshot
    planner = Planner(snapshot)
    by_name = {project.name: project for project in loaded.projects.values()}
    idle = _idle(tx, loaded)
    waiting = _waiting(planner, loaded)
    found = []
    for pool in planner.pools:
        pool.begin(snapshot.now)
        found += [_in_pool(pool, project, waiting, idle) for _, project in sorted(by_name.items())]
    deps.recent_shares.keep(found, len(loaded.waiting), deps.clock.elapsed())
    return found


def of_projects(deps: Deps, tx: Connection, now: datetime) -> Mapping[str, ProjectShare]:
    """By project id."""
    found: dict[str, list[PoolShare]] = defaultdict(list)
    for one in of_pools(deps, tx, now):
        found[one.project.id].append(one)
    return {project.id: _over_pools(project, found[project.id]) for project in projects.all_of(tx)}


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


# By project and pool: hundredths of a GPU, and jobs.
_Waiting = Mapping[tuple[str, str], tuple[int, int]]


def _in_pool(pool: Pool, project: Project, waiting: _Waiting, idle: Mapping[tuple[str, str], int]) -> PoolShare:
    account, key = pool.accounts[project.name], (project.name, pool.name)
    over = sum(held for running, held in account.running if running.job.id in account.over)
    gpus, count = waiting.get(key, (0, 0))
    return PoolShare(
        project=project,
        pool=pool.name,
        quota=project.shares.quotas.get(pool.name, 0),
        weight=account.weight,
        share=int(account.share),
        allocated=account.allocated,
        over_quota=over,
        pending_gpus=gpus,
        pending_jobs=count,
        idle=idle.get(key, 0),
    )


def _waiting(planner: Planner, loaded: Loaded) -> _Waiting:
    """Jobs that no pool could run now, or that wait for something else, count in the first."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    names = [pool.name for pool in planner.pools]
    for row in loaded.waiting:
        where = [pool.name for pool in planner.pools if row.id in pool.waiting] or names[:1]
        for name in where:
            gpus, count = found.get((row.project, name), (0, 0))
            found[row.project, name] = gpus + loaded.specs[row.class_key].gpus, count + 1
    return found


def _idle(tx: Connection, loaded: Loaded) -> Mapping[tuple[str, str], int]:
    """What jobs hold and leave idle, by project and pool."""
    unused = gpu_use.idle_of(tx, jobs.with_gpus(tx), loaded.now)
    found: dict[tuple[str, str], int] = defaultdict(int)
    for row in loaded.running:
        node = loaded.world.nodes.get((row.compute_id, row.node))
        if row.id in unused and node is not None:
            found[row.project, node.labels.get(POOL_LABEL, "")] += loaded.specs[row.class_key].gpus
    return found


def _over_pools(project: Project, pools: Sequence[PoolShare]) -> ProjectShare:
    weight = project.shares.weight or default_weight(project.shares.quota)
    return ProjectShare(
        weight=max((one.weight for one in pools), default=weight),
        share=sum(one.share for one in pools),
        allocated=sum(one.allocated for one in pools),
        pending_gpus=max((one.pending_gpus for one in pools), default=0),
        pending_jobs=max((one.pending_jobs for one in pools), default=0),
    )
