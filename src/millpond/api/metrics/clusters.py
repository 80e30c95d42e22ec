"""Numbers that schedulers of clusters tell of themselves, at `/metrics/clusters` for Prometheus.

Projects and clusters appear by id only: names are not for everybody.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import GaugeMetricFamily, Metric, UntypedMetricFamily
from prometheus_client.registry import Collector

from millpond.model.cluster import ClusterProcessState
from millpond.services.clusters.numbers import ClusterNumbers, numbers
from millpond.services.deps import Deps

_LABELS = ["project_id", "cluster_id", "kind"]


class ClusterCollector(Collector):
    """Reads the database at each scrape; keeps nothing. For those alone who may see projects."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = numbers(self._deps)
        workers = GaugeMetricFamily(
            "millpond_cluster_workers", "Workers of a cluster by state.", labels=[*_LABELS, "state"]
        )
        wanted = GaugeMetricFamily("millpond_cluster_workers_wanted", "Workers that it is to have.", labels=_LABELS)
        for one in found:
            wanted.add_metric(_labels(one), one.view.cluster.wanted)
            states = [worker.process.state for worker in one.view.workers]
            for state in (ClusterProcessState.STARTING, ClusterProcessState.READY, ClusterProcessState.RETIRING):
                workers.add_metric([*_labels(one), state.value], states.count(state))
        yield workers
        yield wanted
        yield from _told(found)


def _told(found: list[ClusterNumbers]) -> Iterator[Metric]:
    """A family for each name that a scheduler used; Dask's and Ray's names begin with theirs."""
    families: dict[str, list[tuple[Mapping[str, str], float]]] = defaultdict(list)
    for one in found:
        own = dict(zip(_LABELS, _labels(one), strict=True))
        for (name, labels), value in one.samples.items():
            families[name].append(({**dict(labels), **own}, value))
    for name, samples in sorted(families.items()):
        family = UntypedMetricFamily(name, "As its scheduler tells it.")
        for written, value in samples:
            family.add_sample(name, dict(written), value)
        yield family


def _labels(one: ClusterNumbers) -> list[str]:
    cluster = one.view.cluster
    return [cluster.project_id, cluster.id, cluster.spec.kind.value]
