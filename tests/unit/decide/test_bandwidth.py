"""The mean of what fills brought, the time a fill will take, and the time that is left of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from millpond.decide.bandwidth import FULL_BYTES, LEAST_BYTES, WEIGHT, expected_seconds, seconds_left, updated


def test_the_first_fill_is_the_measure() -> None:
    assert updated(None, 200_000_000, 2.0, fills=0) == 100e6


def test_tiny_fills_tell_nothing() -> None:
    assert updated(None, LEAST_BYTES - 1, 0.001, fills=0) is None
    assert updated(5e6, LEAST_BYTES - 1, 10, fills=1) == 5e6
    assert updated(5e6, 10**9, 0, fills=1) == 5e6


def test_large_fills_move_the_mean_and_small_ones_a_little() -> None:
    assert updated(100e6, FULL_BYTES, FULL_BYTES / 200e6, fills=9) == approx(100e6 + WEIGHT * 100e6)
    small = updated(100e6, LEAST_BYTES, LEAST_BYTES / 200e6, fills=9)
    assert small is not None and 100e6 < small < 101e6


def test_a_first_fill_of_tiny_files_does_not_stay_the_measure() -> None:
    mean = updated(None, 2_000_000, 20.0, fills=0)
    for number in (1, 2, 3):
        mean = updated(mean, 10**9, 10.0, fills=number)
    assert mean is not None and mean > 75e6, "three such fills later, within a quarter of what they show"


@given(st.lists(st.tuples(st.integers(LEAST_BYTES, 10**12), st.floats(0.001, 10**5)), min_size=1))
def test_the_mean_stays_between_the_slowest_and_the_fastest_fill(fills: list[tuple[int, float]]) -> None:
    mean: float | None = None
    for number, (size, seconds) in enumerate(fills):
        mean = updated(mean, size, seconds, fills=number)
    speeds = [size / seconds for size, seconds in fills]
    assert mean is not None
    assert min(speeds) * 0.999999 <= mean <= max(speeds) * 1.000001


def test_expected_time() -> None:
    assert expected_seconds(10**9, 100e6) == 10
    assert expected_seconds(0, None) == 0
    assert expected_seconds(1, None) is None


def test_time_left_by_its_own_speed_once_that_tells_something() -> None:
    assert seconds_left(10**9, seconds=0, fetched_bytes=0, bytes_per_second=10e6) == 100
    assert seconds_left(5 * 10**8, seconds=1, fetched_bytes=5 * 10**8, bytes_per_second=10e6) == 1
    assert seconds_left(10**9, seconds=1, fetched_bytes=100, bytes_per_second=10e6) == 100
    assert seconds_left(10, seconds=0, fetched_bytes=0, bytes_per_second=None) is None
    assert seconds_left(0, seconds=0, fetched_bytes=0, bytes_per_second=None) == 0


def test_a_slow_line_is_told_by_its_own_speed_too() -> None:
    assert seconds_left(5 * 10**6, seconds=10, fetched_bytes=500_000, bytes_per_second=10e6) == 100


def test_many_small_files_take_longer_than_their_bytes() -> None:
    tiny = {"seconds": 2.0, "fetched_bytes": 50_000, "bytes_per_second": 100e6}
    assert seconds_left(450_000, **tiny, missing_files=90_000, done_files=10_000) == approx(18)
    assert seconds_left(10**10, **tiny, missing_files=90_000, done_files=10_000) == approx(100)
    assert seconds_left(450_000, **tiny, missing_files=90_000, done_files=3) == approx(0.0045)
