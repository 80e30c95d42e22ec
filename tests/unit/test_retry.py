"""One policy, one loop: how often, how long, and what is raised in the end."""

from __future__ import annotations

import pytest

from millpond.errors import NotFound, Unavailable
from millpond.retry import Backoff, RetryPolicy, retry


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.left, self.error = failures, error or Unavailable("not now")
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "answer"


def test_what_passes_is_tried_again_with_growing_pauses() -> None:
    pauses: list[float] = []
    policy = RetryPolicy(attempts=6, first=1.0, longest=4.0)
    assert retry(Flaky(4), Unavailable, policy, sleep=pauses.append) == "answer"
    for pause, most in zip(pauses, [1, 2, 4, 4], strict=True):
        assert 0.5 * most <= pause <= most


def test_the_last_error_is_raised_when_the_policy_is_over() -> None:
    flaky = Flaky(100)
    with pytest.raises(Unavailable):
        retry(flaky, Unavailable, RetryPolicy(attempts=3), sleep=lambda _: None)
    assert flaky.calls == 3


def test_other_errors_are_raised_at_once() -> None:
    flaky = Flaky(1, NotFound("absent"))
    with pytest.raises(NotFound):
        retry(flaky, Unavailable, RetryPolicy(), sleep=lambda _: None)
    assert flaky.calls == 1


def test_an_error_may_ask_for_a_longer_pause() -> None:
    pauses: list[float] = []
    retry(Flaky(1), Unavailable, RetryPolicy(), failed=lambda error: 7.0, sleep=pauses.append)
    assert pauses == [7.0]


def test_a_time_may_outlast_the_attempts() -> None:
    flaky = Flaky(30)
    assert retry(flaky, Unavailable, RetryPolicy(attempts=2, seconds=3600.0), sleep=lambda _: None) == "answer"
    assert flaky.calls == 31


def test_success_begins_anew() -> None:
    backoff = Backoff(RetryPolicy(attempts=2, first=1.0))
    backoff.next()
    backoff.next()
    assert backoff.is_over()
    backoff.reset()
    assert not backoff.is_over()
    assert backoff.next() <= 1.0
