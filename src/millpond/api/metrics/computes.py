"""Agents, computes and their nodes."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import gauge, one
from millpond.db import computes as rows
from millpond.db import counts
from millpond.services.computes import computes
from millpond.services.computes.computes import Health
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps


class ComputeCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        now = self._deps.clock.now()
        with self._deps.db.read() as tx:
            found = computes.views(tx, rows.all_computes(tx), now)
            totals = counts.totals(tx, agents_since=connected_since(now))
        yield one("agents_connected", "Agents heard of in the last minute.", totals.agents)
        health = dict.fromkeys(Health, 0)
        for view in found:
            health[view.health] += 1
        yield gauge(
            "computes", "Computes, by health.", ["state"], [((state.value,), count) for state, count in health.items()]
        )
        labels = ["compute", "site"]
        places = [((view.compute.name, view.compute.site), view) for view in found]
        yield gauge(
            "compute_connected", "1 while the agent of a compute is heard of.", labels,
            [(place, float(view.connected)) for place, view in places],
        )  # fmt: skip
        yield gauge("compute_nodes", "Nodes of a compute.", labels, [(place, len(v.nodes)) for place, v in places])
        yield gauge(
            "compute_running_jobs", "Jobs that run on a compute.", labels, [(place, v.running) for place, v in places]
        )
        yield one("volumes", "Volumes.", totals.volumes)
        yield one("volumes_with_problem", "Volumes that cannot be used.", totals.volume_problems)
        yield one("volume_bytes", "Capacity of all volumes less reserve.", totals.volume_bytes)
        yield one("cached_bytes", "Taken by cached commits; what several share counts once.", totals.cached_bytes)
