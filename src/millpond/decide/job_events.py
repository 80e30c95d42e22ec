"""Events of a job, in order, derived from its times and those of its attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.model.job import Ending, Job, Placement


@dataclass(frozen=True, slots=True)
class JobEvent:
    """`why` adds detail to `what`. Attempts are numbered from 1; None for events of the job itself."""

    at: datetime
    what: str
    why: str | None = None
    attempt: int | None = None


def job_events(job: Job, attempts: Sequence[Placement], computes: Mapping[str, str]) -> list[JobEvent]:
    """Oldest first. `computes` are names by id."""
    status = job.status
    events = [JobEvent(job.queued_at, f"Submitted by {job.created_by}")]
    for attempt in attempts:
        events += _of_attempt(attempt, computes.get(attempt.compute_id, ""))
    if status.stop_requested_at is not None:
        events.append(JobEvent(status.stop_requested_at, "Stop requested"))
    if status.not_before is not None and status.ended_at is None:
        events.append(JobEvent(status.not_before, "Retry"))
    if status.ended_at is not None:
        events.append(JobEvent(status.ended_at, status.state.value.capitalize(), status.problem))
    if status.deleted_at is not None:
        events.append(JobEvent(status.deleted_at, "Moved to the bin"))
    # A stable sort: what has one time stays in the order in which it happened.
    return sorted(events, key=lambda event: event.at)


def _of_attempt(attempt: Placement, compute: str) -> Iterator[JobEvent]:
    where = compute if attempt.node == compute else f"{compute} ({attempt.node})"
    yield JobEvent(attempt.created_at, f"Placed on {where}", attempt=attempt.number)
    if attempt.started_at is not None:
        yield JobEvent(attempt.started_at, "Command started", attempt=attempt.number)
    ended_at = attempt.exited_at or attempt.ended_at
    if ended_at is not None:
        yield JobEvent(ended_at, f"Attempt ended: {_ending(attempt)}", attempt.problem, attempt.number)


def _ending(attempt: Placement) -> str:
    if attempt.ending is Ending.SIGNAL or (attempt.ending is None and attempt.signal is not None):
        return f"signal {attempt.signal}"
    if attempt.ending is Ending.EXIT or (attempt.ending is None and attempt.exit_code is not None):
        return f"exit code {attempt.exit_code}"
    return attempt.ending.value if attempt.ending else "succeeded"
