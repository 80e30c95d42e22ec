"""Shares worked out a moment ago: with thousands of queued jobs they cost as much as a plan, and many pages ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Queues shorter than this are looked at for every request.
LONG_QUEUE = 1_000
_SECONDS = 3.0


class RecentShares:
    """The shares of one moment. Reads and writes are single assignments, so threads need no lock."""

    def __init__(self) -> None:
        self._kept: tuple[float, Sequence[Any]] | None = None

    def get(self, elapsed: float) -> Sequence[Any] | None:
        """What was kept at most three seconds ago; `elapsed` is the steady clock."""
        kept = self._kept
        return kept[1] if kept is not None and elapsed - kept[0] <= _SECONDS else None

    def keep(self, found: Sequence[Any], queued: int, elapsed: float) -> None:
        self._kept = (elapsed, found) if queued >= LONG_QUEUE else None
