"""Writes docs/reference/metrics.md: the table of all metrics, from what the server's collectors tell; `make docs`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

from millpond.api.metrics.registries import Registries
from millpond.services.events import EventHub
from millpond.services.health import Health
from millpond.services.measures import Measures
from millpond.settings import Settings
from millpond.testing.server import making_deps

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"
HEAD = """# Metrics

Every metric of the server, for Prometheus. How to scrape them, dashboards, alerts: [Monitoring](../monitoring.md).

| scope | what |
|---|---|
| server | counted by each server process since it started. Over several servers: add up rates, or look at each. |
| system | read from the database, the same on all servers. Over several servers: take `max`, never `sum`. |
| project | as *system*, of single projects, which appear by their id: only with a token |
| clusters | as *project*, at `/metrics/clusters` |

The token is that of `--metrics-token-file`, or a site administrator's. `millpond_project_info` and the like have names
behind ids. `/metrics/clusters` also has what schedulers of clusters tell of themselves, as `dask_…` and `ray_…`.
Names of sites, volumes, computes and pools are labels; names of people, jobs and datasets never are. A counter
appears when something was counted. A histogram has `_bucket`, `_sum` and `_count`. Written by `make docs`.

| metric | type | labels | scope | what |
|---|---|---|---|---|
"""
_SCOPES = {"process": "server", "system": "system", "projects": "project", "clusters": "clusters"}


@dataclass(frozen=True, slots=True)
class Family:
    """A metric as it is scraped: its name with `_total` and the like."""

    name: str
    kind: str
    labels: Sequence[str]
    scope: str
    text: str


def families() -> list[Family]:
    """All of them, by scope and name."""
    with tempfile.TemporaryDirectory() as folder, making_deps(Settings(Path(folder))) as deps:
        registries, hub = Registries(), EventHub()
        registries.fill(deps, hub, Health(deps))
        registries.loops()
        registries.requests()
        return [
            family
            for attribute, scope in _SCOPES.items()
            for family in sorted(_of(getattr(registries, attribute), scope), key=lambda one: one.name)
        ]


def _of(registry: CollectorRegistry, scope: str) -> Iterator[Family]:
    labels = dict(_instruments(registry))
    for metric in registry.collect():
        ending = {"counter": "_total", "info": "_info"}.get(metric.type, "")
        names = labels.get(metric.name, getattr(metric, "_labelnames", ()))
        if metric.type == "info":
            names = sorted(name for sample in metric.samples for name in sample.labels)
        yield Family(metric.name + ending, metric.type, [*names], scope, metric.documentation)


def _instruments(registry: CollectorRegistry) -> Iterator[tuple[str, Sequence[str]]]:
    """Labels of counters and histograms, which tell them only once they have counted something."""
    for collector in registry._collector_to_names:
        if isinstance(collector, MetricWrapperBase):
            yield collector._name, collector._labelnames
        elif isinstance(collector, Measures):
            yield from _instruments(collector._registry)


def written() -> str:
    lines = []
    for one in families():
        labels = ", ".join(f"`{label}`" for label in one.labels) or "–"
        lines.append(f"| `{one.name}` | {one.kind} | {labels} | {one.scope} | {one.text} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(written())
    print(f"wrote {TARGET}", file=sys.stderr)
