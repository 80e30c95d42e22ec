"""What agents tell again: reports say everything each time, and most of it is what was taken in a moment ago."""

from __future__ import annotations

import threading
from collections.abc import Hashable

# So long one that has not changed is not looked at anew. What it is held against may change without it: then it takes
# this long until that is noticed.
REPEATED_SECONDS = 2.0


class Repeats:
    """The last report of each agent about each thing, and when it was taken in. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[tuple[str, Hashable], tuple[object, float]] = {}

    def is_known(self, key: tuple[str, Hashable], report: object, elapsed: float) -> bool:
        """Whether this very report was taken in just before `elapsed` of the server's clock (`Clock.elapsed`)."""
        with self._lock:
            before = self._taken.get(key)
        return before is not None and elapsed - before[1] < REPEATED_SECONDS and before[0] == report

    def forget(self, agent_id: str) -> None:
        """Another server took this agent's last report: what was known here may have changed since."""
        with self._lock:
            self._taken = {key: taken for key, taken in self._taken.items() if key[0] != agent_id}

    def take(self, key: tuple[str, Hashable], report: object, elapsed: float) -> None:
        """To be called once all of it is written. What is older than it could count is forgotten."""
        with self._lock:
            self._taken = {
                other: taken for other, taken in self._taken.items() if elapsed - taken[1] < REPEATED_SECONDS
            }
            self._taken[key] = (report, elapsed)
