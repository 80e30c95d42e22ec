"""Which replicas start and drain, and who gets which share, as tables."""

from __future__ import annotations

from collections import Counter

import pytest

from millpond.decide.endpoints.replicas import ReplicaKind, divided, kind_of, plan_replicas
from millpond.decide.endpoints.weights import served_weights
from millpond.model.replica import Replica, ReplicaState
from millpond.testing.clock import NOON

OLD, NEW = ReplicaKind("m", 1, "a"), ReplicaKind("m", 2, "a")
S, R, D = ReplicaState.STARTING, ReplicaState.READY, ReplicaState.DRAINING


def replica(number: int, kind: ReplicaKind, state: ReplicaState) -> Replica:
    return Replica(
        id=f"r{number}", endpoint_id="e", site_id="s", site="s", model=kind.model, version=kind.version,
        shape=kind.shape, job_id="j", created_at=NOON, state=state,
    )  # fmt: skip


def replicas(*pairs: tuple[ReplicaKind, ReplicaState]) -> list[Replica]:
    return [replica(number, kind, state) for number, (kind, state) in enumerate(pairs)]


@pytest.mark.parametrize(
    ("wanted", "here", "start", "drain"),
    [
        ({NEW: 2}, [], [NEW, NEW], []),
        ({NEW: 2}, [(NEW, S), (NEW, R)], [], []),
        # An update: one more than wanted, and an old one goes only when as many as wanted answer without it.
        ({NEW: 2}, [(OLD, R), (OLD, R)], [NEW], []),
        ({NEW: 2}, [(OLD, R), (OLD, R), (NEW, S)], [], []),
        ({NEW: 2}, [(OLD, R), (OLD, R), (NEW, R)], [NEW], ["r0"]),
        ({NEW: 2}, [(OLD, D), (OLD, R), (NEW, R), (NEW, S)], [], []),
        ({NEW: 2}, [(OLD, D), (OLD, R), (NEW, R), (NEW, R)], [], ["r1"]),
        # What never answered makes room at once.
        ({NEW: 1}, [(OLD, S)], [NEW], ["r0"]),
        ({NEW: 2}, [(OLD, R), (OLD, S)], [NEW, NEW], ["r1"]),
        # Fewer are wanted: those go that do not answer, then those that are spare.
        ({NEW: 1}, [(NEW, R), (NEW, S)], [], ["r1"]),
        ({NEW: 1}, [(NEW, R), (NEW, R), (NEW, R)], [], ["r1", "r2"]),
        ({}, [(NEW, R), (OLD, S)], [], ["r1", "r0"]),
        # A canary beside the version that serves.
        ({OLD: 1, NEW: 1}, [(OLD, R)], [NEW], []),
    ],
)
def test_plans(
    wanted: dict[ReplicaKind, int],
    here: list[tuple[ReplicaKind, ReplicaState]],
    start: list[ReplicaKind],
    drain: list[str],
) -> None:
    plan = plan_replicas(wanted, replicas(*here))
    assert list(plan.start) == start
    assert list(plan.drain) == drain


@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_an_update_ends_with_the_new_ones_and_never_has_fewer_than_wanted(wanted: int) -> None:
    here = [replica(number, OLD, R) for number in range(wanted)]
    for number in range(100, 200):
        plan = plan_replicas({NEW: wanted}, here)
        here = [one for one in here if one.id not in plan.drain]
        here += [replica(number * 10 + place, kind, S) for place, kind in enumerate(plan.start)]
        assert sum(one.state is R for one in here) >= wanted and len(here) <= wanted + 1
        if not plan.start and not plan.drain and all(one.state is R for one in here):
            break
        here = [replica(int(one.id[1:]), kind_of(one), R) for one in here]
    assert [kind_of(one) for one in here] == [NEW] * wanted


@pytest.mark.parametrize(
    ("count", "weights", "found"),
    [(1, [100], [1]), (4, [95, 5], [3, 1]), (1, [95, 5], [1, 1]), (0, [50, 50], [0, 0]), (3, [100, 0], [3, 0]),
     (10, [50, 30, 20], [5, 3, 2])],
)  # fmt: skip
def test_replicas_by_share(count: int, weights: list[int], found: list[int]) -> None:
    assert divided(count, weights) == found


@pytest.mark.parametrize(
    ("asked", "wanted", "ready", "found"),
    [
        ({1: 100}, {1: 1}, [], {1: 100}),
        ({1: 95, 2: 5}, {1: 1, 2: 1}, [1, 2], {1: 95, 2: 5}),
        # A canary gets nothing before it answers.
        ({1: 95, 2: 5}, {1: 1, 2: 1}, [1], {1: 100}),
        # While replicas are replaced, the new ones get what they can carry.
        ({2: 100}, {2: 2}, [1, 1], {1: 100}),
        ({2: 100}, {2: 2}, [1, 1, 2], {1: 50, 2: 50}),
        ({2: 100}, {2: 3}, [1, 1, 2], {1: 67, 2: 33}),
        ({2: 100}, {2: 2}, [1, 2, 2], {2: 100}),
    ],
)
def test_shares(asked: dict[int, int], wanted: dict[int, int], ready: list[int], found: dict[int, int]) -> None:
    here = [replica(place, ReplicaKind("m", number, "a"), R) for place, number in enumerate(ready)]
    shares = served_weights(
        {("m", one): weight for one, weight in asked.items()}, {("m", one): n for one, n in wanted.items()}, here
    )
    assert {number: weight for (_, number), weight in shares.items()} == found
    assert sum(Counter(shares).values()) == 100
