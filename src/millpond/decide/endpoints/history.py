"""Requests of an endpoint over time, from what its routers had counted at some moments.

Counts only grow while a router's process lives. What lies between two samples of the same process was answered then; a
new process began at nothing. Samples may be thinned out: less detail, the same sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from millpond.decide.endpoints.counts import EndpointCounts, VersionCounts, quantile
from millpond.model.endpoint import EndpointPoint


@dataclass(frozen=True, slots=True)
class CountSample:
    """What one router, known by its placement, had counted at a moment."""

    router: str
    at: datetime
    # When the process began to count.
    started: datetime
    counts: EndpointCounts
    # Replicas that take requests, by version.
    ready: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Sum:
    """What the routers answered of one version within one step."""

    requests: int = 0
    errors: int = 0
    latency: list[int] = field(default_factory=list)
    bounds: tuple[float, ...] = ()
    batches: int = 0
    batch_rows: int = 0
    queued: int = 0
    queue_seconds: float = 0.0
    # The newest of each router.
    outstanding: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=dict)


def history(
    samples: Iterable[CountSample], *, begin: datetime, step_seconds: int, served: Collection[str]
) -> list[EndpointPoint]:  # fmt: skip
    """Points of `step_seconds` each, by time and version; only those with a sample. Samples may come in any order.

    Those from before `begin` only say what had been counted by then. A router goes on to tell of versions that it
    served once: of those that are not `served` now, steps in which nothing happened are left out.
    """
    sums: dict[tuple[int, str], _Sum] = {}
    before: dict[str, EndpointCounts] = {}
    for sample in sorted(samples, key=lambda one: one.at):
        past = before.get(sample.router)
        before[sample.router] = sample.counts
        if sample.at < begin:
            continue
        step = int(sample.at.timestamp()) // step_seconds * step_seconds
        for version in sample.counts.versions:
            total = sums.setdefault((step, version), _Sum())
            _add(total, sample, version, _counted_before(sample, past, version, begin))
    points = (_point(step, version, total, step_seconds) for (step, version), total in sorted(sums.items()))
    return [one for one in points if one.version in served or one.requests or one.outstanding or one.replicas]


def _counted_before(sample: CountSample, past: EndpointCounts | None, version: str, begin: datetime) -> VersionCounts:
    """What this process had counted by the sample before."""
    if past is not None and past.since == sample.counts.since:
        return past.versions.get(version, VersionCounts())
    if past is None and sample.started < begin:
        # What of it was counted before `begin` is not known: the first sample only starts the count.
        return sample.counts.versions[version]
    return VersionCounts()


def _add(total: _Sum, sample: CountSample, version: str, past: VersionCounts) -> None:
    now = sample.counts.versions[version]
    total.requests += max(0, now.requests - past.requests)
    total.errors += max(0, now.errors - past.errors)
    total.latency = _sum(total.latency, _difference(now.latency, past.latency))
    total.bounds = sample.counts.bounds
    total.batches += max(0, now.batches - past.batches)
    total.batch_rows += max(0, now.batch_rows - past.batch_rows)
    total.queued += max(0, now.queued - past.queued)
    total.queue_seconds += max(0.0, now.queue_seconds - past.queue_seconds)
    total.outstanding[sample.router] = now.outstanding
    total.held[sample.router] = sample.counts.held
    total.ready[sample.router] = sample.ready.get(version, 0)


def _point(step: int, version: str, total: _Sum, step_seconds: int) -> EndpointPoint:
    p50, p95, p99 = (quantile(total.bounds, total.latency, share) for share in (0.5, 0.95, 0.99))
    return EndpointPoint(
        at=datetime.fromtimestamp(step, UTC),
        version=version,
        requests=total.requests,
        requests_per_second=total.requests / step_seconds,
        errors=total.errors,
        p50_ms=_milliseconds(p50),
        p95_ms=_milliseconds(p95),
        p99_ms=_milliseconds(p99),
        outstanding=sum(total.outstanding.values()),
        held=sum(total.held.values()),
        replicas=sum(total.ready.values()),
        batch_size=round(total.batch_rows / total.batches, 3) if total.batches else None,
        queue_ms=_milliseconds(total.queue_seconds / total.queued) if total.queued else None,
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _difference(now: Sequence[int], past: Sequence[int]) -> list[int]:
    return [max(0, count - (past[place] if place < len(past) else 0)) for place, count in enumerate(now)]


def _sum(one: Sequence[int], other: Sequence[int]) -> list[int]:
    size = max(len(one), len(other))
    return [sum(part[place] for part in (one, other) if place < len(part)) for place in range(size)]
