"""A clock that stands still until it is told to go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """Implements `deps.Clock`."""

    def __init__(self, start: datetime = NOON) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now

    def elapsed(self) -> float:
        return self._elapsed

    def advance(self, seconds: float) -> datetime:
        self._elapsed += seconds
        return self.set_ahead(seconds)

    def set_ahead(self, seconds: float) -> datetime:
        """Somebody sets the time of day; no time has passed."""
        self._now += timedelta(seconds=seconds)
        return self._now
