"""Which of several stores an object is read from: the best that is not away and has it."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping

from millpond.errors import MillError

log = logging.getLogger(__name__)

# A store that did not answer is asked last for so long; each time twice as long.
AWAY_SECONDS = 30.0
_LONGEST_SECONDS = 600.0


class LakeStores:
    """What one reader has learnt of the stores that it was given. Safe for threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        # Bytes of content that each has given.
        self.given: Counter[str] = Counter()
        self._clock = clock
        self._lock = threading.Lock()
        # Until when a store counts as away, and for how long the last time.
        self._away: dict[str, tuple[float, float]] = {}
        self._lacking: set[tuple[str, Hashable]] = set()

    def order(self, key: Hashable, urls: Mapping[str, str]) -> list[tuple[str, str]]:
        """Stores and their URLs of an object, the best first: those that are away or lack it come last."""
        now = self._clock()
        with self._lock:
            return sorted(
                urls.items(),
                key=lambda one: ((one[0], key) in self._lacking, self._away.get(one[0], (0.0, 0.0))[0] > now),
            )

    def note_away(self, store: str, error: MillError) -> None:
        now = self._clock()
        with self._lock:
            until, last = self._away.get(store, (0.0, 0.0))
            if until > now:
                return
            seconds = min(2 * last or AWAY_SECONDS, _LONGEST_SECONDS)
            self._away[store] = (now + seconds, seconds)
        log.warning("store away, reading from another: store=%s %s", store, error.message)

    def note_lacking(self, store: str, key: Hashable, error: MillError) -> None:
        """This object is missing or wrong there."""
        with self._lock:
            self._lacking.add((store, key))
        log.warning("object not in store, reading from another: store=%s %s", store, error.message)

    def count(self, store: str, size: int) -> None:
        with self._lock:
            self.given[store] += size
