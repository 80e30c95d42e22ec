"""How many requests this process answered and how long they took, by method, route pattern and status."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import Scope

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# They answer when something happens, or end when their reader leaves: how long that takes says nothing.
_WAITING = ("/events", "/agents/sync", "/agent/sync", "/tunnel", "/ports")


class RequestMetrics:
    """Labels are bounded: known methods, patterns of routes, statuses of HTTP."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._requests = Counter("millpond_requests", "HTTP requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "millpond_request_seconds",
            "Time to answer an HTTP request. Event streams and long polls are left out: they wait on purpose.",
            ("method", "route"),
            registry=registry,
            buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        # The pattern, never the path: a path holds names, and there is no end of them.
        self.count(scope["method"], getattr(scope.get("route"), "path", "none"), status, seconds)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        if not route.endswith(_WAITING):
            self._seconds.labels(method, route).observe(seconds)
