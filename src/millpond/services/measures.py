"""What one server process has seen happen, as counters and histograms for Prometheus (`/metrics`).

They begin with the process and only grow: over several servers their rates add up.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from millpond.decide.ledger import ledger
from millpond.model.job import Job, JobState
from millpond.services import job_traces

# From what is at hand to half a day.
_WAITS = (0.1, 0.5, 1, 2, 5, 15, 60, 300, 1800, 7200, 28_800)
_CALLS = (0.001, 0.005, 0.02, 0.1, 0.5, 2, 10)
# Jobs are announced more than once: what was counted of so many of the newest is known.
_KNOWN = 20_000


class Measures(Collector):
    """Thread-safe; nothing here blocks or fails."""

    def __init__(self) -> None:
        mine = self._registry = CollectorRegistry(auto_describe=False)
        self._starts = Histogram(
            "millpond_job_start_seconds",
            "Where the time from submit to start went, by part: queue, fill, environment, total.",
            ("part",),
            registry=mine,
            buckets=_WAITS,
        )
        self._ended = Counter("millpond_jobs_ended", "Jobs that ended, by final state.", ("state",), registry=mine)
        self._requeued = Counter(
            "millpond_jobs_requeued", "Jobs queued again after an attempt: preempted, lost or retried.", registry=mine
        )
        self._placed = Counter("millpond_scheduler_placed", "Jobs that the scheduler placed.", registry=mine)
        self._preempted = Counter(
            "millpond_scheduler_preemptions", "Jobs that the scheduler asked to make room.", registry=mine
        )
        self._plans = Histogram(
            "millpond_scheduler_plan_seconds", "Time to make and carry out one plan.", registry=mine, buckets=_CALLS
        )
        self._refused = Counter(
            "millpond_cache_refusals", "Requests to cache a commit that were refused.", ("reason",), registry=mine
        )
        self._transactions = Histogram(
            "millpond_database_transaction_seconds",
            "Time of a database transaction, the wait for a connection included.",
            ("kind",),
            registry=mine,
            buckets=_CALLS,
        )
        self._lake = Histogram(
            "millpond_lake_call_seconds",
            "Time of a call to the lake's object store.",
            ("operation",),
            registry=mine,
            buckets=_CALLS,
        )
        self._lake_errors = Counter(
            "millpond_lake_call_errors", "Calls to the lake's object store that failed.", ("operation",), registry=mine
        )
        # What has not happened yet is 0: the rate of something that begins is seen from its first time on.
        for state in JobState:
            if state.is_finished:
                self._ended.labels(state.value)
        for reason in ("room", "volume", "quota"):
            self._refused.labels(reason)
        for operation in ("get", "put", "head", "delete"):
            self._lake_errors.labels(operation)
        self._turn = threading.Lock()
        self._known: OrderedDict[tuple[str, int, str], None] = OrderedDict()

    def collect(self) -> Iterable[Metric]:
        return self._registry.collect()

    def jobs_changed(self, changed: Sequence[Job], now: datetime) -> None:
        """Count each start, end and return to the queue once, however often it is announced."""
        for job in changed:
            status = job.status
            if status.started_at is not None and self._is_new(job, "started"):
                self._count_start(job, now)
                job_traces.started(job)
            if status.state.is_finished and self._is_new(job, "ended"):
                self._ended.labels(status.state.value).inc()
                job_traces.ended(job)
            elif status.state is JobState.QUEUED and status.requeued_at is not None and self._is_new(job, "requeued"):
                self._requeued.inc()

    def planned(self, seconds: float, *, preempted: int) -> None:
        self._plans.observe(seconds)
        self._preempted.inc(preempted)

    def placed(self, jobs: int) -> None:
        self._placed.inc(jobs)

    def cache_refused(self, reason: str) -> None:
        self._refused.labels(reason).inc()

    def transaction(self, kind: str, seconds: float) -> None:
        self._transactions.labels(kind).observe(seconds)

    def lake_call(self, operation: str, seconds: float, failed: bool) -> None:
        self._lake.labels(operation).observe(seconds)
        if failed:
            self._lake_errors.labels(operation).inc()

    def _count_start(self, job: Job, now: datetime) -> None:
        spent = ledger(job, now)
        parts = {"queue": spent.queue, "fill": spent.fill, "environment": spent.environment}
        for part, seconds in parts.items():
            self._starts.labels(part).observe(seconds or 0.0)
        self._starts.labels("total").observe(sum(seconds or 0.0 for seconds in parts.values()))

    def _is_new(self, job: Job, what: str) -> bool:
        key = (job.id, job.status.attempt, what)
        with self._turn:
            if key in self._known:
                return False
            self._known[key] = None
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return True
