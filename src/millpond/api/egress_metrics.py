"""Prometheus numbers of egress, read at each scrape. Projects appear by id only: names are not for everybody."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond.services.deps import Deps
from millpond.services.egress import numbers

_LABELS = ["project_id", "site", "source"]


class EgressCollector(Collector):
    """Keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = numbers.load(self._deps)
        came = CounterMetricFamily("millpond_egress_bytes", "Bytes that fills brought to a site.", labels=_LABELS)
        money = CounterMetricFamily("millpond_egress_money", "What those bytes cost by their links.", labels=_LABELS)
        for one in found.totals:
            labels = [one.project_id, found.names.site(one.site_id), found.names.site(one.source_id)]
            came.add_metric(labels, one.bytes)
            money.add_metric(labels, one.money)
        used = GaugeMetricFamily(
            "millpond_egress_budget_used_ratio", "Part of a monthly egress budget that is used.", labels=["project_id"]
        )
        for project_id, part in found.budgets.items():
            used.add_metric([project_id], part)
        yield from (came, money, used)
