"""The load of endpoints over the last minutes, kept in the memory of each server from what routers report."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

from millpond.decide.endpoints.counts import EndpointCounts, quantile
from millpond.decide.scale import Load

_NOW_SECONDS = 10.0
_MINUTE = 60.0
_KEPT_SECONDS = 300.0

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Sample:
    """At a moment of the steady clock: seconds of answering and requests so far, what goes on right now."""

    at: float
    busy: float
    requests: int
    at_once: int
    concurrency: float
    latency: tuple[int, ...]


@dataclass
class _Window:
    since: str = ""
    # Of routers that ran before: their counts are gone, and what they had counted is not.
    earlier_busy: float = 0.0
    earlier_requests: int = 0
    last: EndpointCounts | None = None
    used_at: float | None = None
    begun_at: float = 0.0
    samples: deque[_Sample] = field(default_factory=deque)


class Loads:
    """By endpoint and site. A server that has just begun knows nothing yet, and says since when it looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: dict[Key, _Window] = {}

    def take(self, key: Key, counts: EndpointCounts, now: float) -> None:
        """Note what a router has counted. `now` is a moment of the steady clock."""
        with self._lock:
            window = self._windows.setdefault(key, _Window(since=counts.since, begun_at=now))
            if window.since != counts.since and window.last is not None:
                window.earlier_busy += window.last.seconds
                window.earlier_requests += window.last.requests
            window.since, window.last = counts.since, counts
            _add(window, counts, now)

    def load(self, key: Key, *, replicas: int, ready: int, age: float, now: float) -> Load | None:
        """What there is to decide by; None if no router has reported yet."""
        with self._lock:
            window = self._windows.get(key)
            if window is None or window.last is None or not window.samples:
                return None
            newest = window.samples[-1]
            return Load(
                replicas=replicas,
                ready=ready,
                concurrency_now=newest.concurrency,
                concurrency=_rate(window, newest, _MINUTE),
                concurrency_peak=max(one.concurrency for one in window.samples),
                held=window.last.held,
                p95_ms=_p95(window, newest),
                # What was asked anew is given time to show that it works.
                idle_seconds=min(age, now - (window.begun_at if window.used_at is None else window.used_at)),
                age_seconds=age,
            )

    def looked_for(self, key: Key, now: float) -> float:
        """Seconds since this server began to look."""
        with self._lock:
            window = self._windows.get(key)
            return now - window.begun_at if window else 0.0

    def keep_only(self, keys: Collection[Key]) -> None:
        with self._lock:
            self._windows = {key: one for key, one in self._windows.items() if key in keys}


def _add(window: _Window, counts: EndpointCounts, now: float) -> None:
    busy, requests = window.earlier_busy + counts.seconds, window.earlier_requests + counts.requests
    before = window.samples[-1] if window.samples else None
    if counts.at_once or (before is not None and requests > before.requests):
        window.used_at = now
    lengths = [len(one.latency) for one in counts.versions.values()]
    latency = tuple(
        sum(one.latency[place] for one in counts.versions.values() if place < len(one.latency))
        for place in range(max(lengths, default=0))
    )
    sample = _Sample(now, busy, requests, counts.at_once, 0.0, latency)
    window.samples.append(sample)
    recent = [one.at_once for one in window.samples if one.at >= now - _NOW_SECONDS]
    concurrency = max(_rate(window, sample, _NOW_SECONDS), sum(recent) / len(recent))
    window.samples[-1] = _Sample(now, busy, requests, counts.at_once, concurrency, latency)
    while window.samples and window.samples[0].at < now - _KEPT_SECONDS:
        window.samples.popleft()


def _first_within(window: _Window, newest: _Sample, seconds: float) -> _Sample:
    return next(one for one in window.samples if one.at >= newest.at - seconds)


def _rate(window: _Window, newest: _Sample, seconds: float) -> float:
    """Requests at once on average: seconds of answering in a second."""
    first = _first_within(window, newest, seconds)
    took = newest.at - first.at
    return max(0.0, newest.busy - first.busy) / took if took > 0 else 0.0


def _p95(window: _Window, newest: _Sample) -> float | None:
    first = _first_within(window, newest, _MINUTE)
    if window.last is None or len(first.latency) != len(newest.latency):
        return None
    between = [max(0, now - before) for now, before in zip(newest.latency, first.latency, strict=True)]
    found = quantile(window.last.bounds, between, 0.95)
    return None if found is None else found * 1000
