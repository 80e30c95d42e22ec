"""Jobs over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from millpond.client.http import Api, segment
from millpond.wire.jobs import (
    Attempt,
    AttemptList,
    DryRun,
    Job,
    JobChanged,
    JobCreate,
    JobEvent,
    JobEventList,
    JobsChange,
    JobsChanged,
    UsageSeries,
    Why,
)

# Between looks at a job.
POLL_SECONDS = 0.5
# Of the jobs of one request: few enough that an answer comes soon.
MOST_AT_ONCE = 200
CHANGE_SECONDS = 120.0


def list_jobs(
    api: Api,
    *,
    project: str | None = None,
    state: str | None = None,
    deleted: bool = False,
    mine: bool = False,
    user: str | None = None,
    compute: str | None = None,
    kind: str | None = None,
    text: str | None = None,
    at_most: int | None = None,
) -> Iterator[Job]:
    return api.items(
        "/jobs", Job, project=project, state=state, deleted=deleted or None, mine=mine or None, user=user,
        compute=compute, kind=kind, text=text, at_most=at_most,
    )  # fmt: skip


def submit_job(api: Api, project: str, request: JobCreate) -> Job:
    return api.send("POST", f"/projects/{segment(project)}/jobs", Job, request)


def dry_run_job(api: Api, project: str, request: JobCreate) -> DryRun:
    """What would become of it; nothing is submitted."""
    return api.send("POST", f"/projects/{segment(project)}/jobs/dry-run", DryRun, request, idempotent=True)


def get_job(api: Api, project: str, job: str) -> Job:
    return api.get(job_path(project, job), Job)


def stop_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/stop", Job, idempotent=True)


def suspend_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/suspend", Job, idempotent=True)


def resume_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/resume", Job)


def delete_job(api: Api, project: str, job: str) -> Job:
    return api.send("DELETE", job_path(project, job), Job)


def undelete_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/undelete", Job)


def stop_jobs(api: Api, project: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    """Stop each job; the results come in the order asked, and one failure does not affect the others."""
    return _change_many(api, project, "stop", jobs)


def delete_jobs(api: Api, project: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    return _change_many(api, project, "delete", jobs)


def undelete_jobs(api: Api, project: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    return _change_many(api, project, "undelete", jobs)


def suspend_jobs(api: Api, project: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    return _change_many(api, project, "suspend", jobs)


def resume_jobs(api: Api, project: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    return _change_many(api, project, "resume", jobs)


def _change_many(api: Api, project: str, what: str, jobs: Sequence[str]) -> Iterator[JobChanged]:
    path = f"/projects/{segment(project)}/jobs/{what}"
    for start in range(0, len(jobs), MOST_AT_ONCE):
        asked = JobsChange(jobs=list(jobs[start : start + MOST_AT_ONCE]))
        yield from api.send("POST", path, JobsChanged, asked, idempotent=True, timeout=CHANGE_SECONDS).items


def list_attempts(api: Api, project: str, job: str) -> list[Attempt]:
    """Attempts to run the job, oldest first."""
    return api.get(f"{job_path(project, job)}/attempts", AttemptList).items


def list_events(api: Api, project: str, job: str) -> list[JobEvent]:
    """Events of the job, oldest first."""
    return api.get(f"{job_path(project, job)}/events", JobEventList).items


def why_job(api: Api, project: str, job: str) -> Why:
    return api.get(f"{job_path(project, job)}/why", Why)


def get_usage(api: Api, project: str, job: str) -> UsageSeries:
    return api.get(f"{job_path(project, job)}/usage", UsageSeries)


def wait_for_job(
    api: Api,
    project: str,
    job: str,
    *,
    timeout: float | None = None,
    changed: Callable[[Job], None] = lambda job: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Job:
    """Return the job when it has ended, or after `timeout` seconds. `changed` is called with every new state."""
    deadline = None if timeout is None else time.monotonic() + timeout
    seen: tuple[str, str] | None = None
    while True:
        found = get_job(api, project, job)
        now = (found.state.value, found.reasons[-1] if found.reasons else "")
        if now != seen:
            changed(found)
            seen = now
        if found.state.is_finished or (deadline is not None and time.monotonic() >= deadline):
            return found
        sleep(POLL_SECONDS)


def job_path(project: str, job: str) -> str:
    return f"/projects/{segment(project)}/jobs/{segment(job)}"
