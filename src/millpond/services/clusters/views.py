"""Clusters as people see them: with their jobs, and what their schedulers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from millpond.db import clusters, jobs, replicas
from millpond.model.cluster import (
    Cluster,
    ClusterDemand,
    ClusterProcess,
    ClusterProcessState,
    ClusterProcessView,
    ClusterRole,
    ClusterView,
)
from millpond.model.job import Job
from millpond.services.clusters.reports import demand_of


def views(tx: Connection, found: Sequence[Cluster], *, events: bool = False) -> list[ClusterView]:
    living = clusters.living(tx, [one.id for one in found])
    known = jobs.by_ids(tx, {one.job_id for one in living})
    told = replicas.reports(tx, {one.placement_id for one in living if one.placement_id})
    shown: list[ClusterView] = []
    for one in found:
        here = [process for process in living if process.cluster_id == one.id]
        demand = _demand(here, told)
        shown.append(
            ClusterView(
                one,
                [_process(process, known.get(process.job_id), demand) for process in here],
                demand,
                clusters.events(tx, one.id) if events else (),
            )
        )
    return shown


def _demand(
    here: Sequence[ClusterProcess], told: Mapping[str, replicas.ServiceReport]
) -> ClusterDemand | None:  # fmt: skip
    for one in here:
        if one.role is ClusterRole.SCHEDULER and one.state is ClusterProcessState.READY:
            report = told.get(one.placement_id or "")
            return demand_of(report.stats) if report else None
    return None


def _process(process: ClusterProcess, job: Job | None, demand: ClusterDemand | None) -> ClusterProcessView:
    if job is None:
        return ClusterProcessView(process)
    return ClusterProcessView(
        process,
        job_state=job.status.state.value,
        compute=job.status.compute,
        node=job.status.node,
        reason=process.problem or (job.status.reasons[-1] if job.status.reasons else ""),
        load=demand.workers.get(process.job_name) if demand else None,
    )
