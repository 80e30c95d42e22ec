"""What the router tells about itself: `stats.json` for the agent, and metrics for Prometheus."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..http.message import Request, Response
from .config import RoutedEndpoint
from .dispatch import Dispatcher
from .holding import Holding
from .replicas import Replica
from .stats import BATCH_SIZES, BOUNDS, SCHEMA, Answers, EndpointStats, answers_document

# A Prometheus histogram of every bound would be long: every other one will do there.
_METRIC_BOUNDS = frozenset(range(0, len(BOUNDS), 2))


class Reporter:
    """Reads the counts of a dispatcher. `since` is the id of this process: counts begin anew with it."""

    def __init__(self, dispatcher: Dispatcher, holding: Holding, log_counts: Callable[[], dict[str, int]]) -> None:
        self._dispatcher = dispatcher
        self._holding = holding
        self._log_counts = log_counts
        self.since = secrets.token_hex(8)
        self._started = time.time()
        self.config_error: str | None = None

    def document(self) -> dict[str, Any]:
        """The contents of `stats.json`."""
        config = self._dispatcher.config
        return {
            "schema": SCHEMA,
            "since": self.since,
            "started": self._started,
            "at": time.time(),
            "revision": config.revision,
            "config_error": self.config_error,
            "bounds_s": list(BOUNDS),
            "endpoints": [self._endpoint(endpoint) for endpoint in config.endpoints],
            "lost": [_lost(replica) for replica in self._dispatcher.replicas if replica.lost_since is not None],
            "log": self._log_counts(),
        }

    def write(self, path: Path) -> None:
        """Rewrite `stats.json` by rename; whoever reads it never sees half of it."""
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(self.document(), separators=(",", ":")))
        beside.replace(path)

    def _endpoint(self, endpoint: RoutedEndpoint) -> dict[str, Any]:
        stats = self._dispatcher.stats[endpoint.name]
        held, first = self._holding.held(endpoint.name)
        return {
            "name": endpoint.name,
            "id": endpoint.id,
            "held": held,
            "held_total": stats.held_total,
            "first_held_at": first,
            "refused": {str(status): count for status, count in sorted(stats.refused.items())},
            "shadow": _shadow_document(endpoint, stats),
            "versions": [
                {
                    "model": version.model,
                    "version": version.version,
                    **answers_document(answers),
                    "replicas": len(self._dispatcher.replicas_of(endpoint.name, version)),
                    "replicas_ready": len(self._dispatcher.taking(endpoint.name, version)),
                }
                for version, answers in list(stats.versions.items())
            ],
        }

    async def serve_metrics(self, request: Request) -> Response:
        """The handler of the metrics port."""
        if request.path != "/metrics" or request.method not in ("GET", "HEAD"):
            return Response(404, b"Metrics are at /metrics.\n", [(b"content-type", b"text/plain")])
        text = "\n".join(metric_lines(self.document())) + "\n"
        return Response(200, text.encode(), [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")])


def _lost(replica: Replica) -> dict[str, Any]:
    """A replica that cannot be reached, and since when."""
    seconds = time.monotonic() - (replica.lost_since or 0.0)
    return {"id": replica.address.id, "problem": replica.problem, "seconds": round(seconds)}


def _shadow_document(endpoint: RoutedEndpoint, stats: EndpointStats) -> dict[str, Any]:
    answers: Answers = stats.shadow
    shadow = endpoint.shadow
    return {
        "model": shadow.serves.model if shadow else None,
        "version": shadow.serves.version if shadow else None,
        "sent": answers.total,
        "errors": sum(answers.errors.values()),
        "dropped": stats.shadow_dropped,
        "latency": list(answers.latency),
        "latency_sum_s": round(answers.latency_sum, 6),
    }


_METRICS = (
    ("mill_router_requests_total", "counter", "Answers of a version, by status."),
    ("mill_router_request_seconds", "histogram", "Seconds from request to answer."),
    ("mill_router_batch_rows", "histogram", "Rows that a replica computed at once."),
    ("mill_router_queue_seconds", "summary", "Seconds that requests waited inside a replica for their batch."),
    ("mill_router_retries_total", "counter", "Requests sent again after a replica was lost."),
    ("mill_router_outstanding", "gauge", "Requests that a replica works on."),
    ("mill_router_replicas", "gauge", "Replicas that the configuration names."),
    ("mill_router_replicas_ready", "gauge", "Replicas that take requests."),
    ("mill_router_held", "gauge", "Requests that wait for a replica."),
    ("mill_router_held_total", "counter", "Requests that had to wait for a replica."),
    ("mill_router_refused_total", "counter", "Requests that no replica saw, by status."),
    ("mill_router_shadow_total", "counter", "Copies of requests for the shadow version: ok, error or dropped."),
    ("mill_router_log_rows_total", "counter", "Rows of the request log: written or dropped."),
    ("mill_router_config_revision", "gauge", "Revision of the configuration in use."),
)


def metric_lines(document: dict[str, Any]) -> Iterable[str]:
    """The document of `stats.json` as Prometheus' text."""
    samples: dict[str, list[str]] = {name: [] for name, _, _ in _METRICS}

    def add(name: str, labels: dict[str, Any], value: float, suffix: str = "") -> None:
        text = ",".join(f'{key}="{_escaped(str(label))}"' for key, label in labels.items())
        samples[name].append(f"{name}{suffix}{{{text}}} {value:g}" if text else f"{name}{suffix} {value:g}")

    for endpoint in document["endpoints"]:
        _add_endpoint(add, endpoint)
    for result, count in (("written", document["log"]["rows"]), ("dropped", document["log"]["dropped"])):
        add("mill_router_log_rows_total", {"result": result}, count)
    add("mill_router_config_revision", {}, document["revision"])
    for name, kind, text in _METRICS:
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"
        yield from samples[name]


def _add_endpoint(add: Callable[..., None], endpoint: dict[str, Any]) -> None:
    of = {"endpoint": endpoint["name"]}
    add("mill_router_held", of, endpoint["held"])
    add("mill_router_held_total", of, endpoint["held_total"])
    for status, count in endpoint["refused"].items():
        add("mill_router_refused_total", {**of, "status": status}, count)
    shadow = endpoint["shadow"]
    for result, count in (
        ("ok", shadow["sent"] - shadow["errors"]),
        ("error", shadow["errors"]),
        ("dropped", shadow["dropped"]),
    ):
        add("mill_router_shadow_total", {**of, "result": result}, count)
    for version in endpoint["versions"]:
        labels = {**of, "model": version["model"], "version": version["version"]}
        for status, count in version["answers"].items():
            add("mill_router_requests_total", {**labels, "status": status}, count)
        _add_histogram(add, labels, version)
        _add_batches(add, labels, version["batches"])
        add("mill_router_retries_total", labels, version["retries"])
        for key in ("outstanding", "replicas", "replicas_ready"):
            add(f"mill_router_{key}", labels, version[key])


def _add_histogram(add: Callable[..., None], labels: dict[str, Any], version: dict[str, Any]) -> None:
    name, running = "mill_router_request_seconds", 0
    for index, count in enumerate(version["latency"]):
        running += count
        if index in _METRIC_BOUNDS:
            add(name, {**labels, "le": f"{BOUNDS[index]:g}"}, running, "_bucket")
    add(name, {**labels, "le": "+Inf"}, running, "_bucket")
    add(name, labels, version["latency_sum_s"], "_sum")
    add(name, labels, running, "_count")


def _add_batches(add: Callable[..., None], labels: dict[str, Any], batches: dict[str, Any]) -> None:
    name, running = "mill_router_batch_rows", 0
    for size, count in zip((*map(str, BATCH_SIZES), "+Inf"), batches["sizes"], strict=True):
        running += count
        add(name, {**labels, "le": size}, running, "_bucket")
    add(name, labels, batches["rows"], "_sum")
    add(name, labels, running, "_count")
    add("mill_router_queue_seconds", labels, batches["queue_sum_s"], "_sum")
    add("mill_router_queue_seconds", labels, batches["queued"], "_count")


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
