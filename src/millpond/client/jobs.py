"""Jobs and their logs, over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millpond.client.http import Api, segment
from millpond.wire.work import Job, JobCreate, UsageSeries, Why

_LOG_BYTES = 1 << 20
# Between looks at a log or a job that has nothing new.
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Bytes of a log, the offset of what comes next, and whether anything will."""

    content: bytes
    offset: int
    complete: bool


def list_jobs(
    api: Api,
    *,
    project: str | None = None,
    state: str | None = None,
    deleted: bool = False,
    mine: bool = False,
    at_most: int | None = None,
) -> Iterator[Job]:
    return api.items(
        "/jobs", Job, project=project, state=state, deleted=deleted or None, mine=mine or None, at_most=at_most
    )


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


def why_job(api: Api, project: str, job: str) -> Why:
    return api.get(f"{job_path(project, job)}/why", Why)


def get_usage(api: Api, project: str, job: str) -> UsageSeries:
    return api.get(f"{job_path(project, job)}/usage", UsageSeries)


def read_log(api: Api, project: str, job: str, offset: int = 0, limit: int = _LOG_BYTES) -> LogPiece:
    """Bytes of the log from `offset`; a negative one counts from the end."""
    response = api.request("GET", f"{job_path(project, job)}/log", params={"offset": offset, "limit": limit})
    reached = response.headers.get("X-Mill-Offset")
    return LogPiece(
        content=response.content,
        offset=int(reached) if reached is not None else max(offset, 0) + len(response.content),
        complete=response.headers.get("X-Mill-Complete") == "1",
    )


def follow_log(
    api: Api, project: str, job: str, offset: int = 0, sleep: Callable[[float], None] = time.sleep
) -> Iterator[bytes]:
    """The log from `offset` on, as it grows, until nothing more will come."""
    while True:
        piece = read_log(api, project, job, offset)
        offset = piece.offset
        if piece.content:
            yield piece.content
        elif piece.complete:
            return
        else:
            sleep(POLL_SECONDS)


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
