"""Every query of every dashboard and alert rule, asked of a real Prometheus that scrapes a busy server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from dev import make_dashboards, make_metrics_docs
from prometheus_client.parser import text_string_to_metric_families

from millpond.testing.prometheus import Prometheus, Scrape, find_prometheus, running_prometheus
from tests.integration.busy_server import Busy, busy_server

# They share a server and a Prometheus.
pytestmark = pytest.mark.xdist_group("monitoring")

# What dashboards ask Grafana to fill in.
_VARIABLES = {"job": "millpond", "namespace": ".*", "site": ".*", "project": ".*", "__rate_interval": "1m"}
_COMPARED = re.compile(r"\s(?:==|!=|>=|<=|>|<)\s")
# Told only while fills know their speed, and where an agent has looked at a file system.
_SOMETIMES = {"millpond_cache_fill_seconds_left", "millpond_volume_inodes_free", "millpond_volume_foreign_bytes"}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    with busy_server(tmp_path_factory.mktemp("busy")) as found:
        yield found


@pytest.fixture(scope="module")
def prometheus(busy: Busy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    if find_prometheus() is None:
        pytest.skip("Prometheus is not installed (dev/apt.txt)")
    scrapes = [
        Scrape("millpond", busy.url, busy.token),
        Scrape("millpond-clusters", busy.url, busy.token, "/metrics/clusters"),
    ]
    directory = tmp_path_factory.mktemp("prometheus")
    with running_prometheus(directory, scrapes, rules=make_dashboards.RULES) as found:
        # Rates need two samples.
        for scrape in scrapes:
            found.wait_for(f'count_over_time(up{{job="{scrape.job}"}}[1m]) > 2 and up == 1')
        busy.serve(230)
        found.wait_for("rate(millpond_endpoint_requests_total[1m]) > 0")
        yield found


def test_every_query_of_every_dashboard_finds_something(prometheus: Prometheus) -> None:
    assert set(prometheus.targets().values()) == {""}
    asked, empty = 0, []
    for path in sorted((make_dashboards.DEPLOY / "grafana").glob("*.json")):
        for panel, expr in queries(json.loads(path.read_text())):
            asked += 1
            if not prometheus.query(filled_in(expr)):
                empty.append(f"{path.stem}: {panel}: {filled_in(expr)}")
    assert asked > 60 and empty == []


def test_what_every_alert_looks_at_is_there(prometheus: Prometheus) -> None:
    groups = yaml.safe_load(make_dashboards.RULES.read_text())["groups"]
    looked_at = {rule["alert"]: looked_at_by(rule["expr"]) for group in groups for rule in group["rules"]}
    assert [name for name, expr in looked_at.items() if not prometheus.query(expr)] == []
    for group in groups:
        for rule in group["rules"]:
            prometheus.query(rule["expr"])


def test_the_reference_names_every_metric_and_no_other(busy: Busy) -> None:
    known = {one.name: one for one in make_metrics_docs.families()}
    told: dict[str, set[str]] = {}
    for path in ("/metrics", "/metrics/clusters"):
        for family in text_string_to_metric_families(busy.scrape(path)):
            ending = {"counter": "_total", "info": "_info"}.get(family.type, "")
            samples = [one for one in family.samples if not one.name.endswith("_created")]
            told.setdefault(family.name + ending, set()).update(
                label for one in samples for label in one.labels if label != "le" and samples
            )
            if not samples:
                told.pop(family.name + ending)
    own = {name: labels for name, labels in told.items() if name.startswith("millpond_")}
    assert own.keys() - known.keys() == set(), "not documented"
    assert known.keys() - own.keys() <= _SOMETIMES, "documented, but a busy server does not tell it"
    assert {name: set(known[name].labels) for name in own} == own


def queries(dashboard: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def filled_in(expr: str) -> str:
    for name, value in _VARIABLES.items():
        expr = expr.replace(f"${name}", value)
    return expr


def looked_at_by(expr: str) -> str:
    """What an alert compares with its threshold, or misses."""
    expr = " ".join(expr.split())
    if found := re.fullmatch(r"absent\((.*)\)", expr):
        return found[1]
    depth = 0
    for place, character in enumerate(expr):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(character, 0)
        if depth == 0 and _COMPARED.match(expr, place):
            return expr[:place]
    raise AssertionError(f"{expr} compares nothing")
