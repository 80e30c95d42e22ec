"""What routers counted, read from their reports: by version, between two moments, over a window (docs/design/025)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.decide.traffic import VersionTraffic


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """Answers of a version since its router started: how many, how many of status 5xx, seconds, and buckets of them."""

    requests: int = 0
    errors: int = 0
    seconds: float = 0.0
    latency: tuple[int, ...] = ()
    outstanding: int = 0
    # Inside replicas: executions, the rows of all of them, requests that waited for one, and for how many seconds.
    batches: int = 0
    batch_rows: int = 0
    queued: int = 0
    queue_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EndpointCounts:
    """Of one router: `since` names its process, with which all counts begin anew."""

    since: str
    held: int
    bounds: tuple[float, ...]
    # By `model@number`.
    versions: Mapping[str, VersionCounts]

    @property
    def requests(self) -> int:
        return sum(one.requests for one in self.versions.values())

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.versions.values())

    @property
    def at_once(self) -> int:
        """Requests that are worked on or wait right now."""
        return self.held + sum(one.outstanding for one in self.versions.values())


def counts_of(stats: Mapping[str, Any] | None, endpoint_id: str) -> EndpointCounts | None:
    """What a router's report says of an endpoint; None where it says nothing that can be used."""
    try:
        found = next(one for one in (stats or {}).get("endpoints", ()) if one.get("id") == endpoint_id)
        versions = {f"{one['model']}@{one['version']}": _version(one) for one in found.get("versions", ())}
        bounds = tuple(float(one) for one in (stats or {}).get("bounds_s", ()))
        return EndpointCounts(str((stats or {}).get("since", "")), int(found.get("held", 0)), bounds, versions)
    except (StopIteration, AttributeError, KeyError, TypeError, ValueError):
        return None


def traffic_between(
    before: Mapping[str, Mapping[str, Any]], now: Mapping[str, EndpointCounts], version: str
) -> VersionTraffic:
    """What a version answered at all sites since `before`, which `marked` made. Both are by site."""
    requests = errors = 0
    latency: list[int] = []
    bounds: tuple[float, ...] = ()
    for site, counts in now.items():
        known = counts.versions.get(version)
        if known is None:
            continue
        mark = before.get(site, {})
        same = mark.get("since") == counts.since
        past = mark.get("versions", {}).get(version, {}) if same else {}
        requests += known.requests - int(past.get("requests", 0))
        errors += known.errors - int(past.get("errors", 0))
        latency = _added(latency, _minus(known.latency, past.get("latency", ())))
        bounds = counts.bounds
    p99 = quantile(bounds, latency, 0.99)
    return VersionTraffic(requests, errors, None if p99 is None else p99 * 1000)


def marked(now: Mapping[str, EndpointCounts]) -> dict[str, dict[str, Any]]:
    """Counts to compare with later, as JSON."""
    return {
        site: {
            "since": counts.since,
            "versions": {
                name: {"requests": one.requests, "errors": one.errors, "latency": list(one.latency)}
                for name, one in counts.versions.items()
            },
        }
        for site, counts in now.items()
    }


def quantile(bounds: Sequence[float], latency: Sequence[int], share: float) -> float | None:
    """Seconds within which this share of the answers came, as the buckets tell it; None without answers."""
    total = sum(latency)
    if not total or not bounds:
        return None
    wanted, seen = share * total, 0
    for place, count in enumerate(latency):
        if count and seen + count >= wanted:
            if place >= len(bounds):
                return bounds[-1]
            low = bounds[place - 1] if place else 0.0
            return low + (bounds[place] - low) * max(0.0, wanted - seen) / count
        seen += count
    return bounds[-1]


def _version(one: Mapping[str, Any]) -> VersionCounts:
    errors, batches = one.get("errors", {}), one.get("batches", {})
    return VersionCounts(
        requests=int(one.get("requests", 0)),
        errors=sum(int(count) for count in errors.values()),
        seconds=float(one.get("latency_sum_s", 0.0)),
        latency=tuple(int(count) for count in one.get("latency", ())),
        outstanding=int(one.get("outstanding", 0)),
        batches=sum(int(count) for count in batches.get("sizes", ())),
        batch_rows=int(batches.get("rows", 0)),
        queued=int(batches.get("queued", 0)),
        queue_seconds=float(batches.get("queue_sum_s", 0.0)),
    )


def _minus(now: Sequence[int], before: Sequence[int]) -> list[int]:
    past = [*before, *([0] * (len(now) - len(before)))]
    return [max(0, one - other) for one, other in zip(now, past, strict=False)]


def _added(one: Sequence[int], other: Iterable[int]) -> list[int]:
    more = list(other)
    size = max(len(one), len(more))
    left, right = ([*part, *([0] * (size - len(part)))] for part in (one, more))
    return [a + b for a, b in zip(left, right, strict=True)]
