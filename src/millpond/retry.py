"""Retries: one policy, one growing pause, one loop.

Whoever calls classifies errors (`MillError.transient`, `Unavailable`, HTTP codes in `TRANSIENT`); how often and for how
long is a `RetryPolicy`. Nothing here knows what is called.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from millpond.errors import DiskFull, MillError

Result = TypeVar("Result")
Failure = TypeVar("Failure", bound=Exception)

# Of HTTP: the same request may succeed a little later.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Up to `attempts` tries, and more until `seconds` have passed since the first of them failed.

    Between them it waits `first` seconds and twice as long each time, at most `longest`.
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 10.0
    seconds: float = 0.0

    def pause(self, failures: int, chance: float) -> float:
        """Seconds after so many failures; `chance` in [0, 1) spreads a crowd that failed at the same moment."""
        return float(min(self.longest, self.first * 2.0 ** min(failures - 1, 30))) * (0.5 + chance / 2)

    def is_over(self, failures: int, seconds: float) -> bool:
        """True if nothing is tried again after so many failures, so long after the first."""
        return failures >= self.attempts and seconds >= self.seconds


# What agents do: the server, or the disk, comes back some day.
STEADY = RetryPolicy(first=0.2, longest=5.0)


class Backoff:
    """The pauses of one thing that fails again and again."""

    def __init__(self, policy: RetryPolicy = STEADY) -> None:
        self._policy = policy
        self._failures, self._failed_at = 0, 0.0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        self._failures += 1
        self._failed_at = self._failed_at or time.monotonic()
        return self._policy.pause(self._failures, random.random())

    def is_over(self, pause: float = 0.0) -> bool:
        """True if the policy has come to its end, or will have after that pause."""
        since = time.monotonic() - self._failed_at if self._failed_at else 0.0
        return self._policy.is_over(self._failures, since + pause)

    def reset(self) -> None:
        """Start over after a success."""
        self._failures, self._failed_at = 0, 0.0


def retry(
    call: Callable[[], Result],
    on: type[Failure],
    policy: RetryPolicy,
    *,
    failed: Callable[[Failure], float] = lambda error: 0.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Result:
    """What `call` returns; it is called again after each `on`, until the policy is over: then that error is raised.

    `failed` is told of each error before the pause, and may ask for a longer one.
    """
    backoff = Backoff(policy)
    while True:
        try:
            return call()
        except on as error:
            pause = backoff.next()
            if backoff.is_over(pause):
                raise
            sleep(max(pause, failed(error)))


def may_pass(error: MillError) -> bool:
    """True if the same call may succeed later: the other side is unreachable, overloaded or failed itself."""
    return error.transient or isinstance(error, DiskFull) or type(error) is MillError
