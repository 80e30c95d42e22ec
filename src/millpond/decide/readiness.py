"""Decides whether a queued job may be placed now: its dependencies have ended as required, and no retry is being
waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from millpond.model.job import Job, JobState
from millpond.model.job_spec import Dependency

SUCCESS = "success"
ANY_END = "any"


@dataclass(frozen=True, slots=True)
class Ready:
    """The job can be placed."""


@dataclass(frozen=True, slots=True)
class Waits:
    """`rule`: dependency or backoff (docs/design/014)."""

    reason: str
    rule: str = "dependency"


@dataclass(frozen=True, slots=True)
class Never:
    """The job can never start."""

    reason: str


def readiness(job: Job, others: Mapping[str, Job], now: datetime) -> Ready | Waits | Never:
    """`others` holds the jobs it depends on; a missing one was deleted for good."""
    found = [_dependency(one, others.get(one.job)) for one in job.spec.after]
    for answer in found:
        if isinstance(answer, Never):
            return answer
    waiting = [answer.reason for answer in found if isinstance(answer, Waits)]
    if waiting:
        return Waits(" ".join(waiting))
    # A clock that has been set back since then does not make it wait for longer.
    if job.status.not_before is not None and (job.status.requeued_at or now) <= now < job.status.not_before:
        return Waits(f"retry at {job.status.not_before:%H:%M:%S} UTC.", "backoff")
    return Ready()


def _dependency(dependency: Dependency, other: Job | None) -> Ready | Waits | Never:
    if other is None:
        reason = f"Job {dependency.job}, which it depends on, no longer exists."
        return Ready() if dependency.when == ANY_END else Never(reason)
    written = f"{other.name} ({other.id})"
    if not other.status.state.is_finished:
        until = "has ended" if dependency.when == ANY_END else "has succeeded"
        return Waits(f"it depends on {written}, which is {other.status.state.value}, and starts when that {until}.")
    if dependency.when == ANY_END or other.status.state is JobState.SUCCEEDED:
        return Ready()
    how = f": {other.status.problem}" if other.status.problem else ""
    return Never(f"{written}, which had to succeed first, {_became(other.status.state)}{how}")


def _became(state: JobState) -> str:
    return "was cancelled" if state is JobState.CANCELLED else state.value
