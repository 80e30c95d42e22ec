"""Prometheus numbers of endpoints, read at each scrape. Projects, endpoints and models appear by id only: names are not
for everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond.services.deps import Deps
from millpond.services.endpoints.series import DriftSeries, EndpointSeries, VersionSeries, drift_series, series

_OF_ENDPOINT = ["project_id", "endpoint_id"]
_LABELS = [*_OF_ENDPOINT, "site", "router_id"]
_OF_VERSION = [*_LABELS, "model_id", "version"]
_COUNTERS: tuple[tuple[str, str, Callable[[VersionSeries], float]], ...] = (
    ("requests", "Requests that a version answered since its router started.", lambda one: one.counts.requests),
    ("errors", "Of those, answers of status 5xx.", lambda one: one.counts.errors),
    ("batches", "Executions inside replicas since their router started.", lambda one: one.counts.batches),
    ("batch_rows", "Rows of all those executions.", lambda one: one.counts.batch_rows),
    ("queue_seconds", "Seconds that requests waited inside replicas.", lambda one: one.counts.queue_seconds),
    ("queued", "Requests that waited there, if only for a moment.", lambda one: one.counts.queued),
)
_GAUGES: tuple[tuple[str, str, Callable[[VersionSeries], float]], ...] = (
    ("outstanding", "Requests that a version works on.", lambda one: one.newest.outstanding),
    ("replicas_ready", "Replicas of a version that take requests.", lambda one: one.newest.replicas),
)
_QUANTILES: tuple[tuple[str, Callable[[VersionSeries], float | None]], ...] = (
    ("0.5", lambda one: one.newest.p50_ms),
    ("0.95", lambda one: one.newest.p95_ms),
    ("0.99", lambda one: one.newest.p99_ms),
)


class EndpointCollector(Collector):
    """Keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = series(self._deps)
        rows = [(_labels(one, version), version) for one in found for version in one.versions]
        for name, text, value in _COUNTERS:
            counter = CounterMetricFamily(f"millpond_endpoint_{name}", text, labels=_OF_VERSION)
            for labels, version in rows:
                counter.add_metric(labels, value(version))
            yield counter
        for name, text, value in _GAUGES:
            gauge = GaugeMetricFamily(f"millpond_endpoint_{name}", text, labels=_OF_VERSION)
            for labels, version in rows:
                gauge.add_metric(labels, value(version))
            yield gauge
        yield _latency(rows)
        held = GaugeMetricFamily("millpond_endpoint_held", "Requests that wait for a replica.", labels=_LABELS)
        for one in found:
            held.add_metric(_labels(one), one.held)
        yield held
        yield from _drift(drift_series(self._deps))


def _latency(rows: list[tuple[list[str], VersionSeries]]) -> Metric:
    gauge = GaugeMetricFamily(
        "millpond_endpoint_latency_seconds",
        "Within which a part of the newest answers came; absent while there are none.",
        labels=[*_OF_VERSION, "quantile"],
    )
    for labels, version in rows:
        for quantile, value in _QUANTILES:
            if (milliseconds := value(version)) is not None:
                gauge.add_metric([*labels, quantile], milliseconds / 1000)
    return gauge


def _drift(found: Sequence[DriftSeries]) -> Iterator[Metric]:
    psi = GaugeMetricFamily(
        "millpond_endpoint_drift_psi",
        "PSI of a column in the newest window; columns are told by their place among those of inputs or outputs.",
        labels=[*_OF_ENDPOINT, "column"],
    )
    alerts = GaugeMetricFamily(
        "millpond_endpoint_drift_alerts", "Columns that moved more than the endpoint allows.", labels=_OF_ENDPOINT
    )
    for one in found:
        place = [one.endpoint.project_id, one.endpoint.id]
        for column, value in one.psi.items():
            psi.add_metric([*place, column], value)
        alerts.add_metric(place, one.alerts)
    yield psi
    yield alerts


def _labels(one: EndpointSeries, version: VersionSeries | None = None) -> list[str]:
    place = [one.endpoint.project_id, one.endpoint.id, one.router.site, one.router.id]
    return place if version is None else [*place, version.model_id, version.number]
