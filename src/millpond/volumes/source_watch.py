"""Watches how fast one source of a fill gives bytes, and says when the rest should come from the lake."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from millpond.decide.slow_source import why_too_slow
from millpond.lake.throttle import UNLIMITED, Throttle

log = logging.getLogger(__name__)

# The rate is that of the last seconds: a source may become slow at any time.
RECENT_SECONDS = 10.0


class SourceGivenUp(Exception):
    """Nothing more is taken from this source. The message says why."""


class SourceWatch:
    """One for each source, for all threads that take from it. Only time in which something is asked of it counts.

    Rates are in bytes per second: what is expected from the source, and from the lake; None if unknown. `total` is all
    that it can have. What comes passes the `throttle`: a source that is limited is slow on purpose, and left only
    when it is silent.
    """

    def __init__(
        self,
        expected: float | None = None,
        lake: float | None = None,
        *,
        total: int | None = None,
        name: str = "",
        throttle: Throttle = UNLIMITED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        # Why nothing more is taken from it; None while it is used.
        self.given_up: str | None = None
        # It was being filled itself, and was waited for.
        self.has_waited = False
        self.throttle = throttle
        self._was_limited = False
        self._expected, self._lake, self._name, self._clock = expected, lake, name, clock
        self._total = total
        self._lock = threading.Lock()
        self._asking = 0
        self._asked_since = 0.0
        self._asked_seconds = 0.0
        self._received = self._reached = 0
        # Seconds in which it was asked, and how far it was then.
        self._points: deque[tuple[float, int]] = deque([(0.0, 0)])

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While something is asked of the source."""
        with self._lock:
            if not self._asking:
                self._asked_since = self._clock()
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
                if not self._asking:
                    self._asked_seconds += self._clock() - self._asked_since

    def take(self, size: int) -> None:
        """Count bytes that came. SourceGivenUp if they come much too slowly, or another thread has found so."""
        self.throttle.take(size)
        with self._lock:
            self._was_limited |= self.throttle.rate is not None
            self._received += size
            self._reached = max(self._reached, self._received)
        self._judge()

    def wait(self, reached: int) -> None:
        """Nothing came, because the source is being filled itself, and has so many bytes. SourceGivenUp as above."""
        with self._lock:
            self.has_waited = True
            # What is told may be wrong: nobody has more than all.
            self._reached = max(self._reached, reached if self._total is None else min(reached, self._total))
        self._judge()

    def give_up(self, why: str) -> bool:
        """True for the first reason, which stays."""
        with self._lock:
            is_first = self.given_up is None
            self.given_up = self.given_up or why
        if is_first:
            log.warning("source given up, the rest comes from the lake: %s %s", self._name, why)
        return is_first

    def _judge(self) -> None:
        if self.given_up is not None:
            raise SourceGivenUp(self.given_up)
        with self._lock:
            seconds, came = self._recent()
            limited = self._was_limited
            slow = why_too_slow(came, seconds, expected=self._expected, lake=self._lake, is_limited=limited)
        if slow is not None:
            self.give_up(f"It is too slow: {slow}.")
            raise SourceGivenUp(slow)

    def _recent(self) -> tuple[float, int]:
        now = self._asked_seconds + (self._clock() - self._asked_since if self._asking else 0.0)
        self._points.append((now, self._reached))
        while len(self._points) > 2 and now - self._points[1][0] >= RECENT_SECONDS:
            self._points.popleft()
        then, before = self._points[0]
        return now - then, self._reached - before
