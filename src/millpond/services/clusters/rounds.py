"""Advances clusters: observe processes → decide how many workers → start and retire them (docs/design/027).

What is decided outside a transaction is written only if the cluster has the revision it was decided on; the row of a
process comes with its job, in one transaction. So servers may do this at the same time, and die at any moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import clusters, jobs, projects, replicas
from millpond.decide.clusters.states import observed, state_of
from millpond.decide.clusters.workers import WantedWorkers, plan_workers, wanted_workers
from millpond.errors import MillError
from millpond.model.cluster import (
    Cluster,
    ClusterDemand,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterState,
)
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.people import Project
from millpond.model.quantity import format_count
from millpond.model.run import Run
from millpond.services.clusters import cluster_jobs
from millpond.services.clusters.clusters import announce
from millpond.services.clusters.reports import demand_of, problem_of
from millpond.services.deps import Deps
from millpond.services.jobs import service_life, submit

logger = getLogger(__name__)


class _Stale(Exception):
    """Somebody else changed the cluster meanwhile: the next round looks again."""


def advance_all(deps: Deps, now: datetime) -> None:
    """One round of every cluster. One that raises holds no other back."""
    with deps.db.read() as tx:
        known = clusters.all_of(tx)
        owners = {one.project_id: projects.get(tx, one.project_id) for one in known}
    for cluster in known:
        project = owners[cluster.project_id]
        if project is None:
            continue
        try:
            advance(deps, project, cluster, now)
        except _Stale:
            continue
        except Exception:  # the edge of a cluster: the others go on
            logger.exception("cluster_failed cluster=%s", cluster.id)


def advance(deps: Deps, project: Project, cluster: Cluster, now: datetime) -> None:
    with deps.db.read() as tx:
        before = clusters.living(tx, [cluster.id])
        known = jobs.by_ids(tx, {one.job_id for one in before})
        told = replicas.reports(tx, {job.status.placement_id or "" for job in known.values()})
    looked = [_observed(one, known.get(one.job_id), told, now) for one in before]
    seen, said = [one for one, _ in looked], [what for _, what in looked if what]
    demand = _demand(seen, told)
    after = _wanting(cluster, demand, now)
    starts, seen, retired = _planned(after, seen, demand, now)
    said += retired
    if after.wanted != cluster.wanted:
        count = format_count(after.wanted, "worker")
        said.append(f"{count} wanted instead of {cluster.wanted}. {after.wanted_reason}")
    if seen != before or after != cluster:
        after = _write(deps, after, before, seen, said, now)
    _stop(deps, project, after, seen)
    after, refused = _start(deps, project, after, starts)
    state, reasons = state_of(after, [*seen], refused)
    _write_state(deps, after, state, reasons)
    if after.deleted_at is not None and all(one.state is ClusterProcessState.ENDED for one in seen):
        _remove(deps, after)


def _observed(
    process: ClusterProcess, job: Job | None, told: Mapping[str, replicas.ServiceReport], now: datetime
) -> tuple[ClusterProcess, str | None]:
    report = told.get(job.status.placement_id or "") if job else None
    ready = report.ready if report else None
    return observed(process, job, ready, problem_of(report.stats if report else None), now)


def _demand(seen: Sequence[ClusterProcess], told: Mapping[str, replicas.ServiceReport]) -> ClusterDemand | None:
    """What the scheduler that answers now told last."""
    scheduler = _scheduler(seen)
    if scheduler is None or scheduler.state is not ClusterProcessState.READY:
        return None
    report = told.get(scheduler.placement_id or "")
    return demand_of(report.stats) if report else None


def _wanting(cluster: Cluster, demand: ClusterDemand | None, now: datetime) -> Cluster:
    if cluster.deleted_at is not None:
        return cluster
    known = WantedWorkers(cluster.wanted, cluster.wanted_reason, cluster.fewer_since)
    wanted = wanted_workers(cluster.spec, known, demand, now)
    is_other = wanted.count != cluster.wanted and cluster.state is ClusterState.READY
    return replace(
        cluster, wanted=wanted.count, wanted_reason=wanted.reason, fewer_since=wanted.fewer_since,
        state=ClusterState.SCALING if is_other else cluster.state,
    )  # fmt: skip


def _planned(
    cluster: Cluster, seen: Sequence[ClusterProcess], demand: ClusterDemand | None, now: datetime
) -> tuple[list[ClusterRole], list[ClusterProcess], list[str]]:
    """What to start, the processes with those retiring that are to go, and what the history says of that."""
    living = (ClusterProcessState.STARTING, ClusterProcessState.READY)
    if cluster.deleted_at is not None:
        going = {one.id: "" for one in seen if one.state in living}
        return [], [_retiring(one, going, now) for one in seen], []
    scheduler = _scheduler(seen)
    if scheduler is None:
        return [ClusterRole.SCHEDULER], list(seen), []
    workers = [one for one in seen if one.role is ClusterRole.WORKER]
    plan = plan_workers(cluster.wanted, workers, demand.workers if demand else {}, cluster.wanted_reason)
    # They would only wait for its address.
    start = plan.start if scheduler.state is ClusterProcessState.READY else 0
    changed = [_retiring(one, plan.retire, now) for one in seen]
    return [ClusterRole.WORKER] * start, changed, list(plan.retire.values())


def _scheduler(seen: Sequence[ClusterProcess]) -> ClusterProcess | None:
    ended = ClusterProcessState.ENDED
    return next((one for one in seen if one.role is ClusterRole.SCHEDULER and one.state is not ended), None)


def _retiring(one: ClusterProcess, going: Mapping[str, str], now: datetime) -> ClusterProcess:
    return replace(one, state=ClusterProcessState.RETIRING, retiring_at=now) if one.id in going else one


def _stop(deps: Deps, project: Project, cluster: Cluster, seen: Sequence[ClusterProcess]) -> None:
    """SIGTERM: a worker hands over what it holds before it ends. The scheduler goes last, so that they can."""
    retiring = [one for one in seen if one.state is ClusterProcessState.RETIRING]
    workers_left = any(one.role is ClusterRole.WORKER and one.state is not ClusterProcessState.ENDED for one in seen)
    due = [one for one in retiring if one.role is ClusterRole.WORKER or not workers_left]
    why = f"Cluster {cluster.name} no longer needs it." if cluster.deleted_at is None else "Its cluster was deleted."
    service_life.stop(deps, project, (one.job_id for one in due), why)


def _write(
    deps: Deps, cluster: Cluster, before: Sequence[ClusterProcess], after: Sequence[ClusterProcess],
    said: Sequence[str], now: datetime,
) -> Cluster:  # fmt: skip
    """The cluster as it is stored then, with its processes."""
    with deps.db.write() as tx:
        _locked(tx, cluster)
        for old, new in zip(before, after, strict=True):
            if old != new:
                clusters.save_process(tx, new)
        clusters.forget_ended(tx, cluster.id)
        clusters.save(tx, cluster)
        clusters.note(tx, cluster.id, now, said)
    announce(deps, cluster)
    # Whoever waits for an address hears of it at once.
    deps.events.wake("agents")
    return replace(cluster, revision=cluster.revision + 1)


def _write_state(deps: Deps, cluster: Cluster, state: ClusterState, reasons: tuple[str, ...]) -> None:
    after = replace(cluster, state=state, reasons=reasons)
    if after == cluster:
        return
    with deps.db.write() as tx:
        _locked(tx, cluster)
        clusters.save(tx, after)
    announce(deps, after)
    if state is not cluster.state:
        logger.info("cluster_changed cluster=%s state=%s reason=%s", after.id, state.value, reasons[0])


def _remove(deps: Deps, cluster: Cluster) -> None:
    with deps.db.write() as tx:
        clusters.delete(tx, cluster.id)
    announce(deps, cluster)


def _locked(tx: Connection, cluster: Cluster) -> Cluster:
    """_Stale if somebody else changed it: then nothing is written."""
    current = clusters.lock(tx, cluster.id)
    if current is None or current.revision != cluster.revision:
        raise _Stale
    return current


def _start(
    deps: Deps, project: Project, cluster: Cluster, roles: Sequence[ClusterRole]
) -> tuple[Cluster, list[str]]:  # fmt: skip
    """The cluster with its revision after that, and why some could not be started."""
    refused: list[str] = []
    for role in roles:
        try:
            cluster = _submit(deps, project, cluster, role)
        except MillError as error:
            hint = f" {error.hint}" if error.hint else ""
            refused.append(f"Cannot start a {role.value}: {error.message}{hint}")
    return cluster, list(dict.fromkeys(refused))


def _submit(deps: Deps, project: Project, cluster: Cluster, role: ClusterRole) -> Cluster:
    """The cluster with its next revision, so that no other server starts the same."""
    name, spec = cluster_jobs.cluster_job(deps, project, cluster, role)

    def take(tx: Connection, job: Job, run: Run) -> None:
        clusters.save(tx, _locked(tx, cluster))
        process = ClusterProcess(
            id=new_id(), cluster_id=cluster.id, role=role, job_id=job.id, job_name=name, created_at=job.queued_at
        )
        clusters.insert_process(tx, process)

    hint = f"Somebody else can take it over: mill cluster scale {cluster.name} --workers {cluster.wanted}"
    actor = service_life.actor_of(deps, cluster.user_id, project, noun="cluster", hint=hint)
    submit.enqueue(deps, actor, project, spec, name=name, also=take)
    return replace(cluster, revision=cluster.revision + 1)
