"""Jobs over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from millpond.client.http import Api, segment
from millpond.wire.work import Attempt, AttemptList, Job, JobCreate, UsageSeries, Why

# Between looks at a job.
POLL_SECONDS = 0.5


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


def get_job(api: Api, project: str, job: str) -> Job:
    return api.get(job_path(project, job), Job)


def stop_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/stop", Job, idempotent=True)


def delete_job(api: Api, project: str, job: str) -> Job:
    return api.send("DELETE", job_path(project, job), Job)


def undelete_job(api: Api, project: str, job: str) -> Job:
    return api.send("POST", f"{job_path(project, job)}/undelete", Job)


def list_attempts(api: Api, project: str, job: str) -> list[Attempt]:
    """Every attempt to run it, the first one first."""
    return api.get(f"{job_path(project, job)}/attempts", AttemptList).items


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
    """The job once it has ended, or as it is when `timeout` seconds are over. `changed` hears of every new state."""
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
