"""Whether a queued job may be placed now: the jobs it comes after have ended as they should, its environment is built,
and the pause before a retry is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from millpond.model.job import Dependency, Job, JobState

SUCCESS = "success"
ANY_END = "any"


@dataclass(frozen=True, slots=True)
class Ready:
    """`environment_commit`: what the job's environment was built as; None for a job without one."""

    environment_commit: str | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    reason: str


@dataclass(frozen=True, slots=True)
class Never:
    """It can never begin. `failed`: something that belongs to the job broke, and it was not cancelled by others."""

    reason: str
    failed: bool = False


def readiness(job: Job, others: Mapping[str, Job], now: datetime) -> Ready | Waits | Never:
    """`others` holds the jobs it depends on; one that is missing there was deleted for good."""
    found = [_dependency(one, others.get(one.job_id)) for one in job.after]
    environment = _environment(job, others)
    for answer in (*found, environment):
        if isinstance(answer, Never):
            return answer
    waiting = [answer.reason for answer in (*found, environment) if isinstance(answer, Waits)]
    if waiting:
        return Waits(" ".join(waiting))
    if job.not_before is not None and now < job.not_before:
        return Waits(f"it is tried again at {job.not_before:%H:%M:%S} UTC.")
    return environment if isinstance(environment, Ready) else Ready()


def needed_jobs(job: Job) -> list[str]:
    """The ids of all jobs that `readiness` wants to know about."""
    return [one.job_id for one in job.after] + ([job.environment_job] if job.environment_job else [])


def _dependency(dependency: Dependency, other: Job | None) -> Ready | Waits | Never:
    if other is None:
        reason = f"The job {dependency.job_id} that it was to come after is gone."
        return Ready() if dependency.when == ANY_END else Never(reason)
    written = f"{other.name} ({other.id})"
    if not other.state.is_finished:
        until = "has ended" if dependency.when == ANY_END else "has succeeded"
        return Waits(f"it comes after {written}, which is {other.state.value}, and begins when that {until}.")
    if dependency.when == ANY_END or other.state is JobState.SUCCEEDED:
        return Ready()
    how = f": {other.problem}" if other.problem else ""
    return Never(f"{written}, which had to succeed before it, {_became(other.state)}{how}")


def _environment(job: Job, others: Mapping[str, Job]) -> Ready | Waits | Never:
    if job.environment_job is None or job.environment_commit is not None:
        return Ready(job.environment_commit)
    build = others.get(job.environment_job)
    if build is None:
        return Never(f"The job {job.environment_job} that was to build its environment is gone.", failed=True)
    written = f"{build.name} ({build.id})"
    if not build.state.is_finished:
        return Waits(f"its environment is built by {written}, which is {build.state.value}.")
    if build.state is JobState.SUCCEEDED and build.output_commit:
        return Ready(build.output_commit)
    reason = f"Its environment could not be built; `mill logs {build.id}` tells why."
    return Never(reason, failed=True)


def _became(state: JobState) -> str:
    return "was cancelled" if state is JobState.CANCELLED else state.value
