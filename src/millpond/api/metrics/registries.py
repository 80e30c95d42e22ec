"""Who tells what: this process, all servers alike, and what only those hear who may see projects."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from millpond.api.metrics.backups import BackupCollector
from millpond.api.metrics.caches import CacheCollector
from millpond.api.metrics.clusters import ClusterCollector
from millpond.api.metrics.computes import ComputeCollector
from millpond.api.metrics.data import DataCollector, ProjectDataCollector
from millpond.api.metrics.database import DatabaseCollector
from millpond.api.metrics.egress import EgressCollector, ProjectEgressCollector
from millpond.api.metrics.endpoints import EndpointCollector
from millpond.api.metrics.gpus import GpuCollector, ProjectGpuCollector
from millpond.api.metrics.jobs import JobCollector, ProjectJobCollector
from millpond.api.metrics.process import LoopMetrics, PartMetrics, ProcessMetrics
from millpond.api.metrics.projects import NameCollector, QuotaCollector
from millpond.api.metrics.replicas import ReplicaCollector
from millpond.api.metrics.requests import RequestMetrics
from millpond.api.watched_calls import WatchedCalls
from millpond.services.deps import Deps
from millpond.services.events import EventHub
from millpond.services.health import Health
from millpond.services.lake.fence import FencedStore

_OF_SYSTEM = (
    JobCollector, ComputeCollector, GpuCollector, CacheCollector, DataCollector, ReplicaCollector, EgressCollector,
    BackupCollector, DatabaseCollector,
)  # fmt: skip
_OF_PROJECTS = (
    ProjectJobCollector, ProjectGpuCollector, ProjectDataCollector, ProjectEgressCollector, QuotaCollector,
    EndpointCollector, NameCollector,
)  # fmt: skip


def _registry() -> CollectorRegistry:
    # Collectors that read the database are not asked for their names when they are registered.
    return CollectorRegistry(auto_describe=False)


@dataclass(frozen=True, slots=True)
class Registries:
    """`process` differs from server to server; all others are read from the database, and the same on each."""

    process: CollectorRegistry = field(default_factory=_registry)
    system: CollectorRegistry = field(default_factory=_registry)
    projects: CollectorRegistry = field(default_factory=_registry)
    clusters: CollectorRegistry = field(default_factory=_registry)

    def fill(self, deps: Deps, hub: EventHub, health: Health) -> None:
        """Have everything counted that `deps` sees happen, and told here."""
        watched = WatchedCalls(deps.measures)
        deps.db.told = watched.transaction
        if isinstance(deps.store, FencedStore):
            deps.store.told = watched.lake_call
        self.process.register(deps.measures)
        self.process.register(ProcessMetrics(hub, self.process))
        self.process.register(PartMetrics(health, deps.db))
        for collector in _OF_SYSTEM:
            self.system.register(collector(deps))
        for of_projects in _OF_PROJECTS:
            self.projects.register(of_projects(deps))
        self.clusters.register(ClusterCollector(deps))

    def loops(self) -> LoopMetrics:
        return LoopMetrics(self.process)

    def requests(self) -> RequestMetrics:
        return RequestMetrics(self.process)
