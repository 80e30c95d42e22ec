"""What processes of services told of themselves, as their agents pass it on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millpond.db import clusters as cluster_rows
from millpond.db import placements, replicas
from millpond.model.agent import Agent
from millpond.services.clusters import clusters
from millpond.services.clusters import reports as cluster_reports
from millpond.services.deps import Deps

# Wakes the loop over endpoints.
TOPIC = "endpoints"
# One address that cannot be read would make a router refuse its whole configuration.
_ADDRESS = re.compile(r"unix:/[^\0\n]{1,105}|tcp:[A-Za-z0-9.:_\[\]-]{1,255}:[0-9]{1,5}")
# For routers on the same machine, and on others.
_ADDRESSES = ("http", "grpc", "remote_http", "remote_grpc")


@dataclass(frozen=True, slots=True)
class ServiceWord:
    """That it is ready, and where; what it has counted. None: it did not say."""

    ready: Mapping[str, Any] | None = None
    stats: Mapping[str, Any] | None = None


def observe_services(deps: Deps, agent: Agent, told: Mapping[str, ServiceWord], now: datetime) -> None:
    """Keep what is new, by the ids of placements. What is said of others than this agent's is ignored."""
    if not told:
        return
    with deps.db.read() as tx:
        living = {one.id: one.job_id for one in placements.living_of_agent(tx, agent.id)}
        known = replicas.reports(tx, told.keys() & living)
    news: dict[str, tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]] = {}
    for placement_id in sorted(told.keys() & living):
        service, before = told[placement_id], known.get(placement_id)
        checked = checked_ready(service.ready) or cluster_reports.checked_ready(service.ready or {})
        ready = None if checked is None else {**checked, "agent": agent.id}
        if before is None or before.ready != ready or before.stats != service.stats:
            news[placement_id] = ready, service.stats
    if not news:
        return
    with deps.db.write() as tx:
        for placement_id, (is_ready, stats) in news.items():
            replicas.note_report(tx, placement_id, ready=is_ready, stats=stats, now=now)
            # Its next attempt may have begun before anybody looks.
            if (problem := cluster_reports.problem_of(stats)) is not None:
                cluster_rows.note_problem(tx, living[placement_id], problem)
    deps.events.wake(TOPIC)
    deps.events.wake(clusters.TOPIC)


def checked_ready(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What is used of the word of a process: addresses that are some, and seconds. None without an address."""
    if told is None:
        return None
    found: dict[str, Any] = {
        key: told[key] for key in _ADDRESSES if isinstance(told.get(key), str) and _ADDRESS.fullmatch(told[key])
    }
    if "http" not in found:
        return None
    seconds = {key: told[key] for key in ("load_s", "warmup_s") if isinstance(told.get(key), int | float)}
    return {**found, **seconds}
