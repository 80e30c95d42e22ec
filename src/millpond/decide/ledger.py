"""The start-time ledger: where a job's time went."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from millpond.model.job import Job


@dataclass(frozen=True, slots=True)
class Ledger:
    """Seconds. A running part counts until now; None if it has not begun.

    `earlier` is the time of previous attempts; the other parts belong to the newest. Waiting for an environment
    counts as `environment`, not `queue`.
    """

    earlier: float | None
    queue: float | None
    fill: float | None
    environment: float | None
    run: float | None
    save: float | None
    total: float


def ledger(job: Job, now: datetime) -> Ledger:
    end = job.status.ended_at or now

    def seconds(begin: datetime | None, until: datetime | None) -> float | None:
        return max(0.0, ((until or end) - begin).total_seconds()) if begin else None

    since = job.status.requeued_at or job.queued_at
    built = job.status.environment_at
    waited = seconds(since, built) if built else None
    prepared = seconds(job.status.filled_at, job.status.started_at)
    return Ledger(
        earlier=seconds(job.queued_at, job.status.requeued_at) if job.status.requeued_at else None,
        queue=seconds(built or since, job.status.placed_at),
        fill=seconds(job.status.placed_at, job.status.filled_at),
        environment=None if waited is None and prepared is None else (waited or 0.0) + (prepared or 0.0),
        run=seconds(job.status.started_at, job.status.exited_at),
        save=seconds(job.status.exited_at, job.status.ended_at),
        total=max(0.0, (end - job.queued_at).total_seconds()),
    )
