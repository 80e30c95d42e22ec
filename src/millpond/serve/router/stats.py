"""What the router counts, per endpoint and version, since it started."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .config import RoutedVersion

SCHEMA = "millpond.router-stats/1"

# Seconds. Fine enough that a percentile read from them is off by less than a quarter.
BOUNDS = tuple(round(base * 10.0**power, 6) for power in range(-4, 2) for base in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8))


# Upper ends of the sizes of batches that are counted together.
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(slots=True)
class Batches:
    """Executions of one version inside its replicas: by size, their rows, and how long requests waited for them."""

    sizes: list[int] = field(default_factory=lambda: [0] * (len(BATCH_SIZES) + 1))
    rows: int = 0
    queued: int = 0
    queue_s: float = 0.0

    def add(self, size: int, count: int) -> None:
        self.sizes[bisect_left(BATCH_SIZES, size)] += count


@dataclass(slots=True)
class Answers:
    """Answers of one version: how many by status, and how long they took."""

    by_status: Counter[int] = field(default_factory=Counter)
    latency: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    latency_sum: float = 0.0
    retries: int = 0
    outstanding: int = 0
    batches: Batches = field(default_factory=Batches)

    def add(self, status: int, seconds: float) -> None:
        self.by_status[status] += 1
        self.latency[bisect_left(BOUNDS, seconds)] += 1
        self.latency_sum += seconds

    @property
    def total(self) -> int:
        return sum(self.by_status.values())

    @property
    def errors(self) -> dict[int, int]:
        return {status: count for status, count in self.by_status.items() if status >= 500}


@dataclass(slots=True)
class EndpointStats:
    """Counts of one endpoint."""

    versions: dict[RoutedVersion, Answers] = field(default_factory=dict)
    refused: Counter[int] = field(default_factory=Counter)
    held_total: int = 0
    shadow: Answers = field(default_factory=Answers)
    shadow_dropped: int = 0

    def of(self, version: RoutedVersion) -> Answers:
        found = self.versions.get(version)
        if found is None:
            found = self.versions[version] = Answers()
        return found


def answers_document(answers: Answers) -> dict[str, Any]:
    """The counts of a version as `stats.json` has them."""
    return {
        "requests": answers.total,
        "answers": {str(status): count for status, count in sorted(answers.by_status.items())},
        "errors": {str(status): count for status, count in sorted(answers.errors.items())},
        "retries": answers.retries,
        "latency": list(answers.latency),
        "latency_sum_s": round(answers.latency_sum, 6),
        "outstanding": answers.outstanding,
        "batches": {
            "sizes": list(answers.batches.sizes),
            "rows": answers.batches.rows,
            "queued": answers.batches.queued,
            "queue_sum_s": round(answers.batches.queue_s, 6),
        },
    }


def quantile(latency: list[int], share: float) -> float | None:
    """Seconds within which this share of the answers came, as the buckets tell it; None without answers."""
    total = sum(latency)
    if not total:
        return None
    wanted, seen = share * total, 0
    for index, count in enumerate(latency):
        if count and seen + count >= wanted:
            if index == len(BOUNDS):
                return BOUNDS[-1]
            low = BOUNDS[index - 1] if index else 0.0
            return low + (BOUNDS[index] - low) * max(0.0, wanted - seen) / count
        seen += count
    return BOUNDS[-1]
