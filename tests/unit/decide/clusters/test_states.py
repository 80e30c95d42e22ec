"""How clusters and their processes stand, and what the history says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millpond.decide.clusters.states import observed, state_of
from millpond.model.cluster import (
    Cluster,
    ClusterKind,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterSpec,
    ClusterState,
)
from millpond.model.job import JobState
from millpond.testing.builders_work import a_job, a_placed_job
from millpond.testing.clock import NOON

READY = {"worker": "tls://10.0.0.7:40000"}
SCHEDULER = ClusterRole.SCHEDULER


def a_process(**changes: Any) -> ClusterProcess:
    process = ClusterProcess(
        id="p", cluster_id="c", role=ClusterRole.WORKER, job_id="j", job_name="prep-worker-1", created_at=NOON
    )
    return replace(process, **changes)


def a_cluster(**changes: Any) -> Cluster:
    cluster = Cluster(
        id="c", project_id="p", project="default", name="prep", created_by="ada", user_id="u", created_at=NOON,
        changed_at=NOON, site_id="s", site="local", spec=ClusterSpec(kind=ClusterKind.DASK), wanted=1,
    )  # fmt: skip
    return replace(cluster, **changes)


def test_a_worker_joins_is_lost_and_is_replaced() -> None:
    running = a_placed_job(state=JobState.RUNNING, placement_id="p1")
    joined, said = observed(a_process(), running, READY, None, NOON)
    assert (joined.state, joined.ready, said) == (
        ClusterProcessState.READY, READY, "Worker prep-worker-1 is ready on local.",
    )  # fmt: skip
    assert observed(joined, running, READY, None, NOON) == (joined, None)
    failed = a_job(retried=1, reasons=("killed by signal 9 (SIGKILL); retrying",))
    lost, said = observed(joined, failed, None, None, NOON)
    assert lost.state is ClusterProcessState.STARTING
    assert said == "Worker prep-worker-1 was lost and is being replaced: killed by signal 9 (SIGKILL); retrying"
    assert observed(lost, failed, None, None, NOON)[1] is None
    back, said = observed(lost, replace(running, status=replace(running.status, placement_id="p2")), READY, None, NOON)
    assert (back.placement_id, back.problem) == ("p2", None)
    assert said == "Worker prep-worker-1 was replaced and is ready on local."


def test_what_a_process_says_of_itself_tells_more_than_its_exit() -> None:
    failing = a_job(retried=1, reasons=("exited with status 1; retrying in 1 s",))
    told, _ = observed(a_process(role=SCHEDULER), failing, None, "The package distributed is missing.", NOON)
    again, _ = observed(told, failing, None, None, NOON)
    assert again.problem == "The package distributed is missing."


def test_the_state_of_a_cluster() -> None:
    scheduler = a_process(id="s", role=SCHEDULER, state=ClusterProcessState.READY)
    worker = a_process(state=ClusterProcessState.READY)
    cases = [
        ([], [], ClusterState.STARTING),
        ([replace(scheduler, state=ClusterProcessState.STARTING, problem="No Python.")], [], ClusterState.FAILING),
        ([scheduler], [], ClusterState.SCALING),
        ([scheduler], ["Cannot start a worker: no room."], ClusterState.DEGRADED),
        ([scheduler, worker], [], ClusterState.READY),
        ([scheduler, worker, replace(worker, state=ClusterProcessState.RETIRING)], [], ClusterState.SCALING),
    ]
    for here, refused, expected in cases:
        state, reasons = state_of(a_cluster(), here, refused)
        assert state is expected
        assert reasons
    assert state_of(a_cluster(deleted_at=NOON), [scheduler], [])[0] is ClusterState.DELETING


def test_only_a_retired_worker_is_said_to_have_retired() -> None:
    stopped = a_job(state=JobState.CANCELLED, reasons=("Stopped by maria.",))
    assert observed(a_process(), stopped, None, None, NOON)[1] == "Worker prep-worker-1 ended: Stopped by maria."
    retiring = a_process(state=ClusterProcessState.RETIRING)
    assert observed(retiring, stopped, None, None, NOON)[1] == "Worker prep-worker-1 has retired."
