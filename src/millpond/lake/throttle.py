"""Limits on how fast bytes come and go: buckets that all threads of a process share, and what waits for them.

Each transfer asks before it takes bytes and gets its place in line. A rate that changes is felt by those who wait.
Processes of a crew are given their orders in small parts, each after it was asked for here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

# So much of a second may come at once after a pause.
_BURST_SECONDS = 0.1
# Parts that are asked for at once: so much of a second, within bounds.
_PART_SECONDS = 0.25
_LEAST_PART, _MOST_PART = 4 << 10, 8 << 20
# Without a limit so much is taken at once as came in a second lately: one that is set is felt soon, on slow lines too.
_STEP_SECONDS = 1.0
_LEAST_STEP, _FIRST_STEP = 1 << 20, 4 << 20
# How soon whoever waits notices another rate.
_LOOK_SECONDS = 0.5
# Less is no time to wait, and what is left over when numbers are rounded.
_TINY_SECONDS = 1e-4


class TokenBucket:
    """Lets so many bytes through in a second; all of them while it has no rate. Safe for threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rate: float | None = None
        self._at = clock()
        # Bytes that were asked for since the beginning, and that could have passed.
        self._asked = self._passed = 0.0

    @property
    def rate(self) -> float | None:
        return self._rate

    def set_rate(self, bytes_per_second: float | None) -> None:
        with self._lock:
            self._advance()
            self._rate = bytes_per_second

    def ask(self, size: int) -> float:
        """Take the next place in line for so many bytes; what `seconds_until` is asked with."""
        with self._lock:
            self._advance()
            place = self._asked
            self._asked += size
            return place

    def seconds_until(self, place: float) -> float:
        """How long until it is this one's turn, at the rate of now; 0 if it is."""
        with self._lock:
            self._advance()
            return 0.0 if self._rate is None else max(0.0, (place - self._passed) / self._rate)

    def _advance(self) -> None:
        now = self._clock()
        if self._rate is None:
            self._passed = self._asked
        else:
            most = self._asked + self._rate * _BURST_SECONDS
            self._passed = min(most, self._passed + (now - self._at) * self._rate)
        self._at = now


class Throttle:
    """Buckets that bytes have to pass, all at once. `pause` waits, and may raise to end the transfer."""

    def __init__(self, buckets: Sequence[TokenBucket] = (), pause: Callable[[float], None] = time.sleep) -> None:
        self._buckets = buckets
        self._pause = pause
        self._step = _FIRST_STEP

    @property
    def rate(self) -> float | None:
        """Bytes per second; None while nothing is limited."""
        return min((rate for one in self._buckets if (rate := one.rate) is not None), default=None)

    @property
    def part_bytes(self) -> int | None:
        """How much to take at once; None while nothing is limited."""
        rate = self.rate
        return None if rate is None else int(min(max(rate * _PART_SECONDS, _LEAST_PART), _MOST_PART))

    @property
    def step_bytes(self) -> int | None:
        """How much to take at once so that a limit that is set meanwhile is felt; None if there can be none."""
        return (self.part_bytes or self._step) if self._buckets else None

    def note(self, size: int, seconds: float) -> None:
        """So many bytes came at once, and took so long. Few tell more of the way there than of its rate."""
        if size >= _LEAST_STEP:
            self._step = max(_LEAST_STEP, int(size / max(seconds, _TINY_SECONDS) * _STEP_SECONDS))

    def take(self, size: int) -> None:
        """Wait until so many bytes may come or go."""
        places = [(one, one.ask(size)) for one in self._buckets]
        while (left := max((one.seconds_until(place) for one, place in places), default=0.0)) > _TINY_SECONDS:
            self._pause(min(left, _LOOK_SECONDS))


UNLIMITED = Throttle()
