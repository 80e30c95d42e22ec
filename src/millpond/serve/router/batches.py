"""Batches and waiting inside replicas: asked of each replica now and then, added up by version.

Replicas count since they were loaded. What came since the last time is added to the counts of the router, which go on
when a replica is replaced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .dispatch import Dispatcher
from .links import Links
from .replicas import Replica
from .statistics import ask_statistics
from .stats import Batches

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a replica had counted when it was last asked."""

    rows: int = 0
    queued: int = 0
    queue_ns: int = 0
    # Executions by the size of their batch.
    sizes: Mapping[int, int] = field(default_factory=dict)


class BatchWatch:
    """Asks replicas that have answered something since the last time. Lives in the event loop."""

    def __init__(self, dispatcher: Dispatcher, links: Links) -> None:
        self._dispatcher = dispatcher
        self._links = links
        self._counted: dict[Replica, _Counted] = {}
        self._answered: dict[str, int] = {}
        self._asking: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to ask, unless the last time is not over."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask_all())

    def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    async def _ask_all(self) -> None:
        living = set(self._dispatcher.replicas)
        self._counted = {replica: counted for replica, counted in self._counted.items() if replica in living}
        for endpoint in self._dispatcher.config.endpoints:
            stats = self._dispatcher.stats[endpoint.name]
            answered = sum(one.total for one in list(stats.versions.values()))
            if answered == self._answered.get(endpoint.name, 0):
                continue  # an endpoint at rest is left in peace
            self._answered[endpoint.name] = answered
            for version in list(stats.versions):
                for replica in self._dispatcher.taking(endpoint.name, version):
                    counted = _read(await ask_statistics(self._links, replica))
                    if counted is not None:
                        self._add(replica, counted, stats.of(version).batches)

    def _add(self, replica: Replica, now: _Counted, total: Batches) -> None:
        before = self._counted.get(replica, _Counted())
        if now.rows < before.rows:  # it was started anew
            before = _Counted()
        self._counted[replica] = now
        total.rows += now.rows - before.rows
        total.queued += now.queued - before.queued
        total.queue_s += (now.queue_ns - before.queue_ns) / 1e9
        for size, count in now.sizes.items():
            total.add(size, count - before.sizes.get(size, 0))


def _read(told: Any) -> _Counted | None:
    """An entry of `model_stats`; None for one that cannot be used."""
    try:
        queue = told["inference_stats"]["queue"]
        sizes = {int(one["batch_size"]): int(one["compute_infer"]["count"]) for one in told["batch_stats"]}
        return _Counted(int(told["inference_count"]), int(queue["count"]), int(queue["ns"]), sizes)
    except (KeyError, TypeError, ValueError):
        return None
