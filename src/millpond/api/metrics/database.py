"""The database as all servers see it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import one
from millpond.db import counts
from millpond.services.deps import Deps


class DatabaseCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            found = counts.database_bytes(tx)
        yield one("database_bytes", "Size of the database.", found)
