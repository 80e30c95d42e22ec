"""Requests per minute and token: a bucket that holds a minute's worth and fills steadily."""

from __future__ import annotations

_MOST_BUCKETS = 10_000


class Quotas:
    """The buckets of all tokens. `now` is a steady clock in seconds."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, endpoint: str, token: str, *, per_minute: int, now: float) -> float:
        """Take one request from the bucket of a token: 0, or the seconds until there is one."""
        key = (endpoint, token)
        level, at = self._buckets.get(key, (float(per_minute), now))
        level = min(float(per_minute), level + (now - at) * per_minute / 60)
        if level < 1:
            self._buckets[key] = (level, now)
            return (1 - level) * 60 / per_minute
        self._buckets[key] = (level - 1, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._forget(now)
        return 0.0

    def _forget(self, now: float) -> None:
        """Drop buckets that nobody used for a minute: they are full again."""
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if now - bucket[1] < 60}
