"""How many replicas a load gets, as a table, and what holds for every load."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.scale import Load, ScaleRule, scale


def a_load(replicas: int, **seen: Any) -> Load:
    defaults: dict[str, Any] = {"ready": replicas, "idle_seconds": 0.0, "age_seconds": 3600.0}
    return Load(replicas=replicas, **{**defaults, **seen})


RULE = ScaleRule(minimum=0, maximum=4, target_concurrency=8, idle_to_zero_seconds=600)


@pytest.mark.parametrize(
    ("load", "replicas", "says"),
    [
        (a_load(1, concurrency=4, concurrency_peak=6), 1, "enough"),
        (a_load(1, concurrency=8, concurrency_peak=8), 1, "enough"),
        (a_load(1, concurrency=12, concurrency_peak=12), 2, "12 requests at once, 8 for each replica"),
        (a_load(1, concurrency=4, concurrency_now=20, concurrency_peak=20), 3, "20 requests at once"),
        (a_load(1, concurrency=90, concurrency_peak=90), 4, "4 replicas is the maximum"),
        (a_load(3, concurrency=1, concurrency_peak=20), 3, "enough"),
        (a_load(3, concurrency=1, concurrency_peak=9), 2, "At most 9 requests at once"),
        (a_load(3, concurrency=0, concurrency_peak=0, idle_seconds=599), 1, "last 5 minutes"),
        (a_load(3, idle_seconds=600), 0, "No requests for 10 m"),
        (a_load(1, idle_seconds=None, age_seconds=700), 0, "No requests for"),
        (a_load(1, idle_seconds=None, age_seconds=10), 1, "enough"),
        (a_load(0), 0, "No requests"),
        (a_load(0, held=1, idle_seconds=0), 1, "1 request waits for a replica"),
        (a_load(0, held=30, idle_seconds=0), 4, "30 requests wait for a replica"),
        (a_load(1, ready=0, held=1, idle_seconds=900), 1, "enough"),
    ],
)
def test_load_becomes_replicas(load: Load, replicas: int, says: str) -> None:
    decision = scale(RULE, load)
    assert (decision.replicas, says in decision.reason) == (replicas, True), decision


def test_the_minimum_stays_without_traffic() -> None:
    decision = scale(ScaleRule(minimum=2, maximum=4), a_load(3, idle_seconds=9999))
    assert (decision.replicas, decision.reason) == (2, "2 replicas is the minimum.")


@pytest.mark.parametrize(
    ("load", "replicas", "says"),
    [
        (a_load(2, concurrency=6, concurrency_peak=6, p95_ms=150), 3, "p95 is 150 ms, above 100 ms"),
        (a_load(2, concurrency=6, concurrency_peak=6, p95_ms=1000), 4, "p95 is 1e+03 ms"),
        (a_load(2, concurrency=1, concurrency_peak=1, p95_ms=150), 2, "more replicas would not help"),
        (a_load(2, ready=1, concurrency=6, concurrency_peak=6, p95_ms=150), 2, "1 replica is starting"),
        (a_load(2, concurrency=6, concurrency_peak=12, p95_ms=90), 2, "enough"),
    ],
)
def test_latency_adds_replicas_only_where_they_help(load: Load, replicas: int, says: str) -> None:
    decision = scale(ScaleRule(minimum=1, maximum=4, target_p95_ms=100), load)
    assert (decision.replicas, says in decision.reason) == (replicas, True), decision


LOADS = st.builds(
    Load,
    replicas=st.integers(0, 20), ready=st.integers(0, 20), concurrency_now=st.floats(0, 1e4),
    concurrency=st.floats(0, 1e4),
    concurrency_peak=st.floats(0, 1e4), held=st.integers(0, 1000), p95_ms=st.none() | st.floats(0, 1e6),
    idle_seconds=st.none() | st.floats(0, 1e6), age_seconds=st.floats(0, 1e6),
)  # fmt: skip


@given(LOADS, st.integers(0, 5), st.integers(0, 5), st.floats(0.1, 100))
def test_limits_hold_and_requests_that_wait_get_a_replica(load: Load, low: int, more: int, target: float) -> None:
    rule = ScaleRule(low, low + more, target_concurrency=target)
    decision = scale(rule, load)
    assert low <= decision.replicas <= low + more and decision.reason.endswith(".")
    if load.held and rule.maximum:
        assert decision.replicas >= 1
