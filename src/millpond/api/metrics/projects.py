"""Quotas of projects, and the names behind ids: for those alone who may see projects."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import gauge
from millpond.db import clusters, endpoints, mirrors, projects, quotas, sources
from millpond.model.quota import QuotaKind
from millpond.services.deps import Deps
from millpond.services.quotas.quotas import use_of

_QUOTAS = {
    QuotaKind.LAKE: "lake_bytes", QuotaKind.CACHED: "cached_bytes", QuotaKind.JOBS: "jobs",
    QuotaKind.CALLS: "calls_per_minute",
}  # fmt: skip


class QuotaCollector(Collector):
    """Reads the database at each scrape; keeps nothing. A project without a limit has no series."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        now = self._deps.clock.now()
        with self._deps.db.read() as tx:
            uses = [
                ((project_id, _QUOTAS[kind]), use_of(tx, now, project_id, kind, quota))
                for project_id, quota in quotas.all_of(tx).items()
                for kind in QuotaKind
                if quota.of(kind) is not None
            ]
        labels = ["project_id", "quota"]
        limits = [(key, use.limit) for key, use in uses]
        yield gauge(
            "project_quota_limit", "What a project may have of something; bytes for those quotas.", labels, limits
        )
        used = [(key, use.used) for key, use in uses]
        yield gauge("project_quota_used", "What a project has of it.", labels, used)


class NameCollector(Collector):
    """What ids of the other series are called: 1 each, to be joined with them."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            named = [((one.id, one.name), 1.0) for one in projects.all_of(tx)]
            served = [((one.project_id, one.id, one.name), 1.0) for one in endpoints.all_of(tx)]
            computing = [((one.project_id, one.id, one.name), 1.0) for one in clusters.all_of(tx)]
            outwards = [((one.project_id, one.id, one.name), 1.0) for one in mirrors.all_mirrors(tx)]
            inwards = [((one.project_id, one.id, one.name), 1.0) for one in sources.all_of(tx)]
        yield gauge("project_info", "The name of a project; always 1.", ["project_id", "project"], named)
        for noun, found in (("endpoint", served), ("cluster", computing), ("mirror", outwards), ("source", inwards)):
            article = "an" if noun == "endpoint" else "a"
            text = f"The name of {article} {noun}; always 1."
            yield gauge(f"{noun}_info", text, ["project_id", f"{noun}_id", noun], found)
