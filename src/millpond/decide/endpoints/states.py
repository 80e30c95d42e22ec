"""How a replica and an endpoint stand, from their jobs and what their processes told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from millpond.decide.endpoints.failing import counted, described, ending_of, served
from millpond.decide.endpoints.replicas import ReplicaKind, kind_of
from millpond.model.endpoint import Endpoint, EndpointState
from millpond.model.job import Job, JobState
from millpond.model.quantity import format_count
from millpond.model.replica import Replica, ReplicaState

_SHOWN_PROBLEMS = 3


def observed(replica: Replica, job: Job | None, ready: Mapping[str, Any] | None, now: datetime) -> Replica:
    """The replica as it is now. `ready` is what the process of the job's current placement told, if it did.

    One whose agent is silent stays as it was last heard of.
    """
    if job is None or job.status.state.is_finished:
        return replace(replica, state=ReplicaState.ENDED, draining_at=replica.draining_at or now, problem=_problem(job))
    if replica.state is ReplicaState.DRAINING:
        return replica
    placement = job.status.placement_id
    if job.status.state is JobState.RUNNING and ready is not None:
        if replica.state is ReplicaState.READY and replica.placement_id == placement:
            # Its agent may have been told of another address since.
            return replica if replica.ready == ready else replace(replica, ready=dict(ready))
        return replace(
            replica, state=ReplicaState.READY, ready_at=now, placement_id=placement, ready=dict(ready), problem=None,
            failures=served(job.status.retried),
        )  # fmt: skip
    failures = counted(replica.failures, job.status.retried)
    ended = ending_of(job) if job.status.retried or job.status.losses else None
    return replace(
        replica, state=ReplicaState.STARTING, ready={}, placement_id=placement, failures=failures,
        problem=described(ended, failures.cause),
    )  # fmt: skip


def state_of(
    endpoint: Endpoint,
    wanted: Mapping[str, Mapping[ReplicaKind, int]],
    here: Sequence[Replica],
    refused: Sequence[str],
    routers_waiting: int = 0,
    routers_behind: int = 0,
    unreached: Sequence[str] = (),
) -> tuple[EndpointState, tuple[str, ...]]:
    """State and reasons. `wanted` are kinds of replicas by site, `refused` why replicas or routers could not be
    started, `routers_waiting` how many sites have no router yet that takes requests,
    `routers_behind` how many go by older shares: a change is over when none does, `unreached` why routers cannot reach
    replicas that are ready."""
    living = [one for one in here if one.state is not ReplicaState.ENDED]
    if endpoint.deleted_at is not None:
        return EndpointState.DELETING, (f"{format_count(len(living), 'replica')} left to stop.",)
    total = sum(sum(kinds.values()) for kinds in wanted.values())
    ready = sum(_ready(kinds, [one for one in living if one.site == site]) for site, kinds in wanted.items())
    answering = sum(one.state is ReplicaState.READY for one in living)
    problems = [*unreached, *refused, *dict.fromkeys(one.problem for one in living if one.problem)][:_SHOWN_PROBLEMS]
    if routers_waiting:
        waits = f"{format_count(routers_waiting, 'router')} not ready."
        return (EndpointState.FAILING if problems else EndpointState.STARTING), (waits, *problems)
    counts = f"{ready} of {format_count(total, 'replica')} ready."
    if not total:
        return EndpointState.IDLE, ("Scaled to zero: the next request starts a replica.", *problems)
    if not answering:
        return (EndpointState.FAILING if problems else EndpointState.STARTING), (counts, *problems)
    if ready >= total and len(living) == total and not unreached:
        if routers_behind and endpoint.state is not EndpointState.READY:
            return EndpointState.UPDATING, (counts, f"{format_count(routers_behind, 'router')} still to be told.")
        return EndpointState.READY, (counts,)
    if problems:
        return EndpointState.DEGRADED, (counts, *problems)
    return EndpointState.UPDATING, (counts,)


def _ready(kinds: Mapping[ReplicaKind, int], here: Sequence[Replica]) -> int:
    """Replicas that answer, of those that are wanted."""
    return sum(
        min(count, sum(one.state is ReplicaState.READY and kind_of(one) == kind for one in here))
        for kind, count in kinds.items()
    )


def _problem(job: Job | None) -> str | None:
    if job is None:
        return "Its job no longer exists."
    return job.status.reasons[-1] if job.status.reasons else job.status.problem
