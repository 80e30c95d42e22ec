"""How a cluster and its processes stand, from their jobs and from what the processes told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from millpond.decide.endpoints.failing import ending_of
from millpond.decide.retry import RETRYING
from millpond.model.cluster import (
    Cluster,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterState,
)
from millpond.model.job import Job, JobState
from millpond.model.quantity import format_count

_SHOWN_PROBLEMS = 3


def observed(
    process: ClusterProcess, job: Job | None, ready: Mapping[str, Any] | None, problem: str | None, now: datetime
) -> tuple[ClusterProcess, str | None]:
    """The process as it is now, and what is worth a line of the history.

    `ready` is what the job's current placement told, `problem` why that one cannot go on, in its own words.
    """
    if job is None or job.status.state.is_finished:
        ended = replace(process, state=ClusterProcessState.ENDED, ready={})
        return ended, _ended(process, job)
    if process.state is ClusterProcessState.RETIRING:
        return process, None
    placement = job.status.placement_id
    if job.status.state is JobState.RUNNING and ready is not None:
        if process.state is ClusterProcessState.READY and process.placement_id == placement:
            return process, None
        after = replace(
            process, state=ClusterProcessState.READY, ready_at=now, placement_id=placement, ready=dict(ready),
            problem=None,
        )  # fmt: skip
        return after, _joined(process, job)
    failed = ending_of(job) if job.status.retried or job.status.losses else None
    starting = replace(
        process, state=ClusterProcessState.STARTING, ready={}, placement_id=placement,
        problem=problem or _newer(process.problem, failed),
    )  # fmt: skip
    return starting, _lost(process, job, failed)


def state_of(
    cluster: Cluster, here: Sequence[ClusterProcess], refused: Sequence[str]
) -> tuple[ClusterState, tuple[str, ...]]:
    """`refused`: why processes could not be started."""
    living = [one for one in here if one.state is not ClusterProcessState.ENDED]
    if cluster.deleted_at is not None:
        return ClusterState.DELETING, (f"{format_count(len(living), 'job')} left to stop.",)
    workers = [one for one in living if one.role is ClusterRole.WORKER]
    ready = sum(one.state is ClusterProcessState.READY for one in workers)
    problems = [*refused, *dict.fromkeys(one.problem for one in living if one.problem)][:_SHOWN_PROBLEMS]
    if not any(one.role is ClusterRole.SCHEDULER and one.state is ClusterProcessState.READY for one in living):
        said = ("The scheduler is not ready yet.", *problems)
        return (ClusterState.FAILING if problems else ClusterState.STARTING), said
    counts = f"{ready} of {format_count(cluster.wanted, 'worker')} ready."
    if ready == cluster.wanted == len(workers):
        return ClusterState.READY, (counts,)
    return (ClusterState.DEGRADED if problems else ClusterState.SCALING), (counts, *problems)


def _newer(known: str | None, failed: str | None) -> str | None:
    """What the process said of itself tells more than how its command ended."""
    return known if known and RETRYING not in known else failed


def _called(process: ClusterProcess) -> str:
    return "The scheduler" if process.role is ClusterRole.SCHEDULER else f"Worker {process.job_name}"


def _joined(process: ClusterProcess, job: Job) -> str:
    where = f" on {job.status.compute}" if job.status.compute else ""
    if process.ready_at is not None:
        return f"{_called(process)} was replaced and is ready{where}."
    return f"{_called(process)} is ready{where}."


def _lost(process: ClusterProcess, job: Job, failed: str | None) -> str | None:
    """Only of one that was ready."""
    if process.state is not ClusterProcessState.READY:
        return None
    why = failed or (job.status.reasons[-1] if job.status.reasons else "its job no longer runs")
    return f"{_called(process)} was lost and is being replaced: {why}"


def _ended(process: ClusterProcess, job: Job | None) -> str | None:
    if process.state is ClusterProcessState.RETIRING:
        return f"{_called(process)} has retired."
    if job is None:
        return f"{_called(process)} is gone: its job no longer exists."
    why = job.status.reasons[-1] if job.status.reasons else job.status.state.value
    return f"{_called(process)} ended: {why}"
