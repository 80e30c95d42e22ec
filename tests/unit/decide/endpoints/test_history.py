"""Counts of routers become requests per step of time; nothing is counted twice, whatever samples there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.endpoints.counts import EndpointCounts, VersionCounts
from millpond.decide.endpoints.history import CountSample, history

BEGIN = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
BOUNDS = (0.01, 0.1, 1.0)


def a_sample(seconds: float, requests: int, *, router: str = "r", since: str = "s", **more: int) -> CountSample:
    latency = (requests, 0, 0, 0)
    counted = VersionCounts(requests=requests, latency=latency, errors=more.get("errors", 0))
    counts = EndpointCounts(since, more.get("held", 0), BOUNDS, {"m@1": counted})
    started = BEGIN + timedelta(seconds=more.get("started", -1000))
    return CountSample(router, BEGIN + timedelta(seconds=seconds), started, counts, {"m@1": more.get("ready", 1)})


def requests(samples: Sequence[CountSample], step: int = 60) -> dict[int, int]:
    points = history(samples, begin=BEGIN, step_seconds=step, served={"m@1"})
    return {int((point.at - BEGIN).total_seconds()): point.requests for point in points}


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([a_sample(0, 100)], {0: 0}, id="what came before the first sample is not known"),
        pytest.param([a_sample(-15, 100), a_sample(0, 110), a_sample(15, 130)], {0: 30}, id="between samples"),
        pytest.param([a_sample(0, 5, started=0)], {0: 5}, id="a process that began within the time"),
        pytest.param(
            [a_sample(0, 100), a_sample(30, 110), a_sample(60, 7, since="t", started=50)],
            {0: 10, 60: 7},
            id="a new process begins at nothing",
        ),
        pytest.param(
            [a_sample(0, 100), a_sample(0, 50, router="q"), a_sample(30, 101), a_sample(31, 60, router="q")],
            {0: 11},
            id="two routers",
        ),
        pytest.param([a_sample(0, 100), a_sample(30, 90)], {0: 0}, id="counts that shrink"),
    ],
)
def test_requests_between_samples(samples: list[CountSample], expected: dict[int, int]) -> None:
    assert requests(samples) == expected


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=40), st.sets(st.integers(1, 38)), st.sampled_from([15, 60, 600])
)
def test_thinned_samples_have_the_same_sum(grown: list[int], left_out: set[int], step: int) -> None:
    samples, total = [], 0
    for number, more in enumerate(grown):
        total += more
        samples.append(a_sample(15 * number, total))
    thinned = [one for number, one in enumerate(samples) if number not in left_out or number == len(samples) - 1]
    assert sum(requests(samples, step).values()) == sum(requests(thinned, step).values()) == total - grown[0]


def test_a_point_has_rates_percentiles_and_what_is_now() -> None:
    first = a_sample(0, 0, started=0)
    slow = VersionCounts(
        requests=100, errors=3, latency=(50, 45, 4, 1), outstanding=2, batches=20, batch_rows=120, queued=100,
        queue_seconds=0.5,
    )  # fmt: skip
    later = CountSample(
        "r", BEGIN + timedelta(seconds=15), BEGIN, EndpointCounts("s", 4, BOUNDS, {"m@1": slow}), {"m@1": 2}
    )
    [point] = history([later, first], begin=BEGIN, step_seconds=60, served=())
    assert (point.requests, point.errors, point.held, point.outstanding, point.replicas) == (100, 3, 4, 2, 2)
    assert point.requests_per_second == pytest.approx(100 / 60)
    assert point.p50_ms == pytest.approx(10) and point.p95_ms == pytest.approx(100)
    assert point.p99_ms == pytest.approx(1000)
    assert (point.batch_size, point.queue_ms) == (6.0, 5.0)


def test_versions_that_are_no_longer_served_have_no_empty_points() -> None:
    samples = [a_sample(0, 0, started=0), a_sample(15, 7), a_sample(75, 7, ready=0), a_sample(135, 7, ready=0)]
    points = history(samples, begin=BEGIN, step_seconds=60, served=())
    assert [one.requests for one in points] == [7]
    assert points[0].batch_size is None and points[0].queue_ms is None
    assert len(history(samples, begin=BEGIN, step_seconds=60, served={"m@1"})) == 3
