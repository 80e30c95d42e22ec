"""How many workers a cluster wants, and which go."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.decide.clusters.workers import (
    FEWER_AFTER,
    WantedWorkers,
    at_first,
    check_workers,
    plan_workers,
    wanted_workers,
)
from millpond.errors import Invalid
from millpond.model.cluster import (
    ClusterAdapt,
    ClusterDemand,
    ClusterKind,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterSpec,
    WorkerLoad,
)
from millpond.testing.clock import NOON

ADAPTS = ClusterSpec(kind=ClusterKind.DASK, workers=2, adapt=ClusterAdapt(1, 8))


def a_worker(name: str, *, ready: bool = True, age: int = 0) -> ClusterProcess:
    state = ClusterProcessState.READY if ready else ClusterProcessState.STARTING
    return ClusterProcess(
        id=name, cluster_id="c", role=ClusterRole.WORKER, job_id=name, job_name=name, state=state,
        created_at=NOON - timedelta(seconds=age),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("desired", "count", "reason"),
    [
        (5, 5, "The scheduler asks for 5 workers for 40 tasks."),
        (30, 8, "The scheduler asks for 30 workers for 40 tasks; at most 8."),
        (2, 2, "as before"),
        (0, 2, "as before"),  # fewer: only after a while
    ],
)
def test_more_workers_come_at_once(desired: int, count: int, reason: str) -> None:
    found = wanted_workers(ADAPTS, WantedWorkers(2, "as before"), ClusterDemand(desired, tasks=40), NOON)
    assert (found.count, found.reason) == (count, reason)


def test_fewer_only_when_the_scheduler_goes_on_asking_for_fewer() -> None:
    idle = ClusterDemand(0)
    waiting = wanted_workers(ADAPTS, WantedWorkers(4, "busy"), idle, NOON)
    assert (waiting.count, waiting.fewer_since) == (4, NOON)
    still = wanted_workers(ADAPTS, waiting, idle, NOON + FEWER_AFTER / 2)
    assert (still.count, still.fewer_since) == (4, NOON)
    busy_again = wanted_workers(ADAPTS, still, ClusterDemand(4), NOON + FEWER_AFTER / 2)
    assert busy_again.fewer_since is None
    fewer = wanted_workers(ADAPTS, still, idle, NOON + FEWER_AFTER)
    assert (fewer.count, fewer.reason) == (1, "The scheduler asks for 0 workers; at least 1.")


def test_a_silent_scheduler_and_a_fixed_number_change_nothing() -> None:
    assert wanted_workers(ADAPTS, WantedWorkers(3, "busy"), None, NOON).count == 3
    fixed = ClusterSpec(kind=ClusterKind.RAY, workers=3)
    assert wanted_workers(fixed, WantedWorkers(3, ""), ClusterDemand(50), NOON) == at_first(fixed)


def test_idle_workers_with_the_least_results_retire_first() -> None:
    here = [a_worker("busy"), a_worker("full"), a_worker("idle"), a_worker("late", ready=False)]
    loads = {"busy": WorkerLoad(tasks=4), "full": WorkerLoad(bytes=10**9), "idle": WorkerLoad()}
    assert list(plan_workers(3, here, loads).retire) == ["late"]
    plan = plan_workers(1, here, loads, "Less to do.")
    assert plan.retire == {
        "late": "Worker late retires: it had not joined yet. Less to do.",
        "idle": "Worker idle retires: it was idle. Less to do.",
        "full": "Worker full retires: of all it had the least to do (0 tasks). Less to do.",
    }
    assert plan.start == 0


def test_the_youngest_of_equals_goes_and_missing_ones_start() -> None:
    assert list(plan_workers(1, [a_worker("old", age=60), a_worker("young")], {}).retire) == ["young"]
    retiring = ClusterProcessState.RETIRING
    leaving = ClusterProcess(
        id="w", cluster_id="c", role=ClusterRole.WORKER, job_id="w", job_name="w", created_at=NOON, state=retiring
    )
    assert plan_workers(2, [leaving], {}).start == 2


@pytest.mark.parametrize("adapt", [ClusterAdapt(8, 1), ClusterAdapt(0, 0), ClusterAdapt(1, 5000)])
def test_limits_that_cannot_be_kept_to(adapt: ClusterAdapt) -> None:
    with pytest.raises(Invalid):
        check_workers(1, adapt)
