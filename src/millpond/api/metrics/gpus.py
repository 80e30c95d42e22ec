"""GPUs by pool, and how projects share them. Projects appear by id only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import gauge
from millpond.services.deps import Deps
from millpond.services.jobs import shares
from millpond.services.jobs.shares import PoolShare

_OF_POOL: tuple[tuple[str, str, Callable[[PoolShare], int]], ...] = (
    ("allocated", "GPUs that jobs hold, by pool.", lambda one: one.allocated),
    ("idle", "GPUs that jobs hold and leave idle, by pool.", lambda one: one.idle),
    ("pending", "GPUs that queued jobs ask for, by pool; jobs that several pools could run count in each.",
     lambda one: one.pending_gpus),
    ("quota", "GPUs guaranteed to projects, by pool.", lambda one: one.quota),
)  # fmt: skip
_OF_PROJECT: tuple[tuple[str, str, Callable[[PoolShare], int]], ...] = (
    ("quota", "GPUs guaranteed to a project.", lambda one: one.quota),
    ("share", "GPUs that a project may expect now.", lambda one: one.share),
    ("allocated", "GPUs that jobs of a project hold.", lambda one: one.allocated),
    ("over_quota", "Of those, what is beyond the quota.", lambda one: one.over_quota),
    ("idle", "GPUs that jobs of a project hold and leave idle.", lambda one: one.idle),
    ("pending", "GPUs that queued jobs of a project ask for.", lambda one: one.pending_gpus),
)


class GpuCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        now = self._deps.clock.now()
        with self._deps.db.read() as tx:
            found, capacity = shares.of_pools(self._deps, tx, now), shares.capacities(tx, now)
        yield gauge("gpus", "GPUs of connected nodes, by pool.", ["pool"], _whole(capacity))
        for name, text, value in _OF_POOL:
            sums = Counter[str]()
            for share in found:
                sums[share.pool] += value(share)
            yield gauge(f"gpus_{name}", text, ["pool"], _whole(sums))


class ProjectGpuCollector(Collector):
    """By project and pool."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            found = shares.of_pools(self._deps, tx, self._deps.clock.now())
        for name, text, value in _OF_PROJECT:
            rows = [((one.project.id, one.pool), value(one) / 100) for one in found]
            yield gauge(f"project_gpus_{name}", text, ["project_id", "pool"], rows)


def _whole(hundredths: Mapping[str, int]) -> list[tuple[tuple[str], float]]:
    return [((pool,), number / 100) for pool, number in sorted(hundredths.items())]
