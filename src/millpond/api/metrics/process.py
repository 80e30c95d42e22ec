"""Numbers of one server process: its loops, open pages, agents that wait, parts it needs, memory and processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.metrics_core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from millpond import __version__
from millpond.api.metrics.families import counter, gauge, one
from millpond.db.engine import Database
from millpond.services.computes.agent_topics import AGENTS
from millpond.services.events import EventHub
from millpond.services.health import Health


class LoopMetrics:
    """Rounds of background loops as they end."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rounds = Counter(
            "millpond_loop_rounds", "Rounds of a background loop, by outcome: done, failed.", ("loop", "outcome"),
            registry=registry,
        )  # fmt: skip
        self._seconds = Counter(
            "millpond_loop_seconds", "Time that rounds of a background loop took.", ("loop",), registry=registry
        )
        self._last = Gauge(
            "millpond_loop_last_done_timestamp_seconds",
            "When a round of a background loop last ended well, in seconds since 1970.",
            ("loop",),
            registry=registry,
        )

    def observe(self, loop: str, seconds: float, failed: bool) -> None:
        for outcome, number in (("done", int(not failed)), ("failed", int(failed))):
            self._rounds.labels(loop, outcome).inc(number)
        self._seconds.labels(loop).inc(seconds)
        if not failed:
            self._last.labels(loop).set(time.time())


class ProcessMetrics(Collector):
    """Counts what this process holds open, at each scrape."""

    def __init__(self, hub: EventHub, registry: CollectorRegistry) -> None:
        self._hub = hub
        ProcessCollector(namespace="millpond", registry=registry)

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("millpond_server", "Version of this server; always 1.", value={"version": __version__})
        yield one("event_streams", "Pages that follow events here.", self._hub.streams)
        yield counter("events", "Events told to pages here.", (), [((), self._hub.told)])
        yield one("agents_waiting", "Agents whose report waits for an answer here.", self._hub.waiting(AGENTS))


class PartMetrics(Collector):
    """Whether what this process needs is there, and how much of the database it uses."""

    def __init__(self, health: Health, db: Database) -> None:
        self._health, self._db = health, db

    def collect(self) -> Iterator[Metric]:
        parts = [((part.name,), float(part.ok)) for part in self._health.parts()]
        yield gauge("part_ok", "1 while a part is well: database, lake, disk, clock.", ["part"], parts)
        used, most = self._db.connections
        yield one("database_connections", "Connections to the database that this server uses now.", used)
        yield one("database_connections_max", "How many it may use at once.", most)
