"""What happened to a job, in order: every change of its state, in words, with why it happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.model.job import Ending, Job, JobState, Placement, StateChange

_RULES = {
    "claim": "its project's quota covers it",
    "rebalance": "its project is below its share",
    "priority": "its priority is higher",
}


@dataclass(frozen=True, slots=True)
class JobEvent:
    """`why` is what is known beyond `what`. Attempts are numbered from 1; None for what happened to the job itself.

    `before` and `after` are states; both None for what did not change it.
    """

    at: datetime
    what: str
    why: str | None = None
    attempt: int | None = None
    before: JobState | None = None
    after: JobState | None = None
    rule: str | None = None
    by: str | None = None
    node: str | None = None


def state_events(
    job: Job, changes: Sequence[StateChange], attempts: Sequence[Placement], names: Mapping[str, str]
) -> list[JobEvent]:  # fmt: skip
    """Oldest first. `names`: how jobs are written that this one was preempted for, as far as they may be seen."""
    by_number = {attempt.number: attempt for attempt in attempts}
    return [
        JobEvent(
            change.at,
            _what(change),
            _why(job, change, by_number.get(change.attempt or 0), names),
            change.attempt,
            change.before,
            change.after,
            change.rule,
            _by(change, names),
            change.node,
        )
        for change in changes
    ]


def _what(change: StateChange) -> str:
    if change.after is JobState.QUEUED:
        if change.before is JobState.SUSPENDED:
            return f"Resumed by {change.by}"
        return "Queued again" if change.before else f"Submitted by {change.by}"
    if change.after is JobState.PLACED:
        return f"Placed on {change.node}"
    if change.after is JobState.RUNNING:
        return "Command started"
    return str(change.after.value).capitalize()


def _why(
    job: Job, change: StateChange, attempt: Placement | None, names: Mapping[str, str]
) -> str | None:  # fmt: skip
    if change.after is JobState.PREEMPTED:
        rule = _RULES.get(change.rule or "")
        return f"for {_by(change, names)}{f': {rule}' if rule else ''}"
    if change.after.is_finished:
        return job.status.problem or (f"stopped by {change.by}" if change.by else None)
    if change.after is JobState.QUEUED and change.before not in (None, JobState.SUSPENDED) and attempt:
        return attempt.problem or f"attempt {attempt.number} ended: {_ending(attempt)}"
    return None


def _by(change: StateChange, names: Mapping[str, str]) -> str | None:
    return names.get(change.by or "", "another project") if change.after is JobState.PREEMPTED else change.by


def job_events(job: Job, attempts: Sequence[Placement], computes: Mapping[str, str]) -> list[JobEvent]:
    """Of a job from before changes of state were kept: told from its times and those of its attempts, oldest first.

    `computes` are names by id.
    """
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
