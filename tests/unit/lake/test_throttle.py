"""Token buckets by a clock of the test: how long bytes take, whoever takes them."""

from __future__ import annotations

import threading

import pytest

from millpond.lake.throttle import UNLIMITED, Throttle, TokenBucket


class Clock:
    """Time passes when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds


def bucket(clock: Clock, rate: float | None) -> TokenBucket:
    made = TokenBucket(clock)
    made.set_rate(rate)
    return made


def test_bytes_take_their_time() -> None:
    clock = Clock()
    throttle = Throttle([bucket(clock, 1000.0)], clock.pause)
    for _ in range(100):
        throttle.take(500)
    assert clock.now == pytest.approx(49.5, abs=0.2), "50 s, less the first part and the burst"


def test_without_a_rate_nothing_waits() -> None:
    clock = Clock()
    Throttle([bucket(clock, None)], clock.pause).take(10**12)
    UNLIMITED.take(10**12)
    assert clock.now == 0 and UNLIMITED.part_bytes is None


def test_what_is_taken_at_once_follows_the_line_so_that_a_new_limit_is_felt() -> None:
    clock = Clock()
    way = bucket(clock, None)
    throttle = Throttle([way], clock.pause)
    assert UNLIMITED.step_bytes is None, "no limit can be set there"
    throttle.note(6_000_000, 4.0)
    assert throttle.step_bytes == 1_500_000, "what comes in a second"
    throttle.note(1000, 1.0)
    assert throttle.step_bytes == 1_500_000, "so few bytes tell nothing of a line"
    throttle.note(64 << 20, 0.0)
    assert (throttle.step_bytes or 0) > 1 << 30
    way.set_rate(100_000.0)
    assert throttle.step_bytes == throttle.part_bytes == 25_000


def test_the_lowest_of_several_counts() -> None:
    clock = Clock()
    throttle = Throttle([bucket(clock, 1e6), bucket(clock, 1000.0), bucket(clock, None)], clock.pause)
    for _ in range(10):
        throttle.take(1000)
    assert clock.now == pytest.approx(9.0, abs=0.2) and throttle.rate == 1000.0


def test_transfers_share_one_bucket() -> None:
    clock = Clock()
    shared = bucket(clock, 1000.0)
    first, second = Throttle([shared], clock.pause), Throttle([shared, bucket(clock, 10**9)], clock.pause)
    for _ in range(50):
        first.take(500)
        second.take(500)
    assert clock.now == pytest.approx(49.5, abs=0.2)


def test_threads_share_one_bucket() -> None:
    clock = Clock()
    throttle = Throttle([bucket(clock, 1000.0)], clock.pause)
    threads = [threading.Thread(target=lambda: [throttle.take(500) for _ in range(25)]) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert clock.now >= 49.0


def test_a_pause_saves_no_more_than_a_little() -> None:
    clock = Clock()
    throttle = Throttle([bucket(clock, 1000.0)], clock.pause)
    throttle.take(1)
    clock.now += 3600
    before = clock.now
    for _ in range(10):
        throttle.take(1000)
    assert clock.now - before == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize("after", [None, 1e6])
def test_whoever_waits_feels_another_rate(after: float | None) -> None:
    clock = Clock()
    slow = bucket(clock, 10.0)

    def pause(seconds: float) -> None:
        clock.pause(seconds)
        slow.set_rate(after)

    throttle = Throttle([slow], pause)
    throttle.take(10_000)
    throttle.take(1)
    assert clock.now < 1.0, "not the 1000 s that the old rate would take"


def test_a_transfer_that_is_not_wanted_any_more_ends_at_once() -> None:
    class Cancelled(Exception):
        pass

    def pause(seconds: float) -> None:
        raise Cancelled

    throttle = Throttle([bucket(Clock(), 1.0)], pause)
    throttle.take(1000)
    with pytest.raises(Cancelled):
        throttle.take(1)


@pytest.mark.parametrize(("rate", "part"), [(1.0, 4096), (8e6, 2_000_000), (1e12, 8 << 20)])
def test_parts_fit_the_rate(rate: float, part: int) -> None:
    assert Throttle([bucket(Clock(), rate)]).part_bytes == part
