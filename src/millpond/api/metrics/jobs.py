"""Jobs by state and by what they wait for, and flow runs; of projects by their ids."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.api.metrics.families import by_key, gauge, one
from millpond.db import counts
from millpond.model.flow_run import FlowRunPhase
from millpond.model.job import JobState
from millpond.services.deps import Deps

_STATES = [state.value for state in JobState]
_PHASES = [phase.value for phase in FlowRunPhase if not phase.is_finished]


class JobCollector(Collector):
    """Reads the database at each scrape; keeps nothing."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        now = self._deps.clock.now()
        with self._deps.db.read() as tx:
            jobs, waiting = counts.jobs_by_state(tx), counts.waiting_jobs(tx)
            oldest, flows = counts.oldest_queued(tx), counts.by_state(tx, "flow_runs")
        yield gauge("jobs", "Jobs that are not in the bin, by state.", ["state"], by_key(jobs, _STATES))
        waits = {rule or "new": number for rule, number in waiting.items()}
        yield gauge("jobs_waiting", "Queued jobs, by the rule under which they wait.", ["rule"], by_key(waits))
        age = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
        yield one("jobs_oldest_queued_seconds", "For how long the job waits that has waited longest.", age)
        yield gauge("flow_runs", "Flow runs that have not ended, by phase.", ["state"], by_key(flows, _PHASES))


class ProjectJobCollector(Collector):
    """By project."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    def collect(self) -> Iterator[Metric]:
        with self._deps.db.read() as tx:
            found = counts.living_jobs(tx)
        yield gauge(
            "project_jobs", "Jobs of a project that have not ended, by state.", ["project_id", "state"],
            sorted(found.items()),
        )  # fmt: skip
