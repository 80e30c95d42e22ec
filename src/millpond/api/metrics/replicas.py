"""Numbers of the lake's replicas for Prometheus: what each holds, and how far it is behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond.services.deps import Deps
from millpond.services.lake.replicas import replicas
from millpond.services.lake.replicas.replicas import LakeReplicaView

_GAUGES: Sequence[tuple[str, str, Callable[[LakeReplicaView], float]]] = (
    ("bytes", "Bytes of packs that a replica of the lake holds.", lambda one: one.bytes),
    ("behind_commits", "Commits that a replica of the lake lacks.", lambda one: one.lag.commits),
    ("behind_packs", "Packs that a replica of the lake lacks.", lambda one: one.lag.packs),
    ("behind_bytes", "Bytes of packs that a replica of the lake lacks.", lambda one: one.lag.bytes),
    ("behind_seconds", "Age of the oldest commit that a replica of the lake lacks.", lambda one: one.seconds_behind),
    ("failing", "1 if the last round of copying to a replica failed.", lambda one: one.replica.problem is not None),
)


class ReplicaCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = replicas.list_all(self._deps)
        for name, help_text, value in _GAUGES:
            gauge = GaugeMetricFamily(f"millpond_lake_replica_{name}", help_text, labels=["replica"])
            for one in found:
                gauge.add_metric([one.replica.name], value(one))
            yield gauge
