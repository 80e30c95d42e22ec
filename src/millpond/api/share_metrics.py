"""Prometheus numbers of GPU shares, read at each scrape. Projects appear by id only: names are not for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond.services.deps import Deps
from millpond.services.jobs import shares
from millpond.services.jobs.shares import PoolShare

_GAUGES: tuple[tuple[str, str, Callable[[PoolShare], float]], ...] = (
    ("quota", "GPUs guaranteed to a project.", lambda one: one.quota / 100),
    ("share", "GPUs that a project may expect now.", lambda one: one.share / 100),
    ("allocated", "GPUs that jobs of a project hold.", lambda one: one.allocated / 100),
    ("pending", "GPUs that queued jobs of a project ask for.", lambda one: one.pending_gpus / 100),
)


class ShareCollector(Collector):
    """Keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            found = shares.of_pools(self._deps, tx, self._deps.clock.now())
        for name, text, value in _GAUGES:
            gauge = GaugeMetricFamily(f"millpond_project_gpus_{name}", text, labels=["project_id", "pool"])
            for one in found:
                gauge.add_metric([one.project.id, one.pool], value(one))
            yield gauge
