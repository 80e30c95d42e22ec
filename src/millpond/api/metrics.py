"""Prometheus numbers: requests as they happen, and the state of the system read from the database when asked.

Counts only: no name of a project, dataset, job or person ever appears here.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response
from starlette.types import Scope

from millpond.db import counts
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps

# An agent asks at least this often (docs/design/003): one that was silent for longer is not connected.


class RequestMetrics:
    """How many requests and how long they took, by method, route pattern and status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._requests = Counter("millpond_requests", "HTTP requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "millpond_request_seconds",
            "Time to answer an HTTP request.",
            ("method", "route"),
            registry=registry,
            buckets=(0.005, 0.02, 0.1, 0.5, 2, 10),
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        # The pattern, never the path: a path holds names, and there is no end of them.
        self.count(scope["method"], getattr(scope.get("route"), "path", "none"), status, seconds)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class StateCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            jobs = counts.jobs_by_state(tx)
            now = counts.totals(tx, agents_since=connected_since(self._deps.clock.now()))
        by_state = GaugeMetricFamily("millpond_jobs", "Jobs that are not in the bin, by state.", labels=["state"])
        for state, number in sorted(jobs.items()):
            by_state.add_metric([state], number)
        yield by_state
        yield GaugeMetricFamily(
            "millpond_cached_bytes", "Taken by cached commits; what several share counts once.", now.cached_bytes
        )
        yield GaugeMetricFamily("millpond_volume_bytes", "Capacity of all volumes less reserve.", now.volume_bytes)
        yield GaugeMetricFamily("millpond_volumes", "Volumes.", now.volumes)
        yield GaugeMetricFamily("millpond_volumes_with_problem", "Volumes that cannot be used.", now.volume_problems)
        yield GaugeMetricFamily("millpond_agents_connected", "Agents heard of in the last minute.", now.agents)


router = APIRouter()


@router.get("/metrics", include_in_schema=False)
def metrics(request: Request) -> Response:
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_PLAIN_1_0_0)
