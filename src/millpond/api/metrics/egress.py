"""Egress between sites; of projects by their ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import counter, gauge
from millpond.services.deps import Deps
from millpond.services.egress import numbers

_PLACES = ["site", "source"]
_LABELS = ["project_id", *_PLACES]


class EgressCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = numbers.load(self._deps)
        came, money = defaultdict[tuple[str, str], float](float), defaultdict[tuple[str, str], float](float)
        for one in found.totals:
            places = (found.names.site(one.site_id), found.names.site(one.source_id))
            came[places] += one.bytes
            money[places] += one.money
        yield counter(
            "site_egress_bytes", "Bytes that fills brought to a site, by source.", _PLACES, sorted(came.items())
        )
        yield counter("site_egress_money", "What those bytes cost by their links.", _PLACES, sorted(money.items()))


class ProjectEgressCollector(Collector):
    """By project."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        found = numbers.load(self._deps)
        rows = [
            ((one.project_id, found.names.site(one.site_id), found.names.site(one.source_id)), one)
            for one in found.totals
        ]
        brought = [(labels, float(one.bytes)) for labels, one in rows]
        yield counter("egress_bytes", "Bytes that fills of a project brought to a site.", _LABELS, brought)
        cost = [(labels, float(one.money)) for labels, one in rows]
        yield counter("egress_money", "What those bytes cost by their links.", _LABELS, cost)
        yield gauge(
            "egress_budget_used_ratio", "Part of a monthly egress budget that is used.", ["project_id"],
            [((project_id,), part) for project_id, part in found.budgets.items()],
        )  # fmt: skip
