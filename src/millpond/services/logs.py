"""Logs as byte streams addressed by offset: one file per placement, written only at its end, read anywhere.

The bytes at an offset are the same however often they are sent, so writing twice, or two writers, harm nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from millpond.db import jobs, placements
from millpond.errors import BadRequest, DiskFull, StalePlacement
from millpond.model.job import Job, Placement
from millpond.model.people import Actor
from millpond.services import access
from millpond.services.deps import Deps

MAX_READ = 8 << 20


@dataclass(frozen=True, slots=True)
class LogPart:
    data: bytes
    # Of the next byte.
    offset: int
    is_complete: bool


def append(deps: Deps, actor: Actor, placement_id: str, offset: int, data: bytes) -> int:
    """How far the log is now. What it has already is left out; bytes beyond its end are not taken.

    StalePlacement once the placement is over: nothing is added to the log of a job that has ended.
    """
    if offset < 0:
        raise BadRequest("A log is written from an offset of 0 or more.")
    placement, job = own_placement(deps, actor, placement_id)
    path = _path(deps, job.id, placement.id)
    size = _size(path)
    new = data[size - offset :] if offset <= size else b""
    if not new:
        return size
    _write(path, size, new)
    _tell(deps, job, size + len(new))
    return size + len(new)


def own_placement(deps: Deps, actor: Actor, placement_id: str) -> tuple[Placement, Job]:
    """A placement of the asking agent that is not over."""
    with deps.db.read() as tx:
        placement = placements.get(tx, placement_id)
        if placement is None or placement.agent_id != actor.agent_id:
            raise access.not_found("placement", placement_id)
        job = jobs.get(tx, placement.job_id)
    if job is None or placement.ended_at is not None:
        raise StalePlacement(f"Placement {placement_id} is over.")
    return placement, job


def read(deps: Deps, job: Job, offset: int, limit: int) -> LogPart:
    """Bytes of the current or last placement's log from `offset`; a negative one counts from the end."""
    with deps.db.read() as tx:
        placement = placements.newest_of_job(tx, job.id)
    if placement is None:
        return LogPart(b"", 0, job.state.is_finished)
    path = _path(deps, job.id, placement.id)
    size = _size(path)
    begin = max(0, size + offset) if offset < 0 else min(offset, size)
    data = _read(path, begin, min(limit, MAX_READ, size - begin))
    reached = begin + len(data)
    # The job was read first: once it has ended, nothing is added behind the size read afterwards.
    return LogPart(data, reached, job.state.is_finished and reached >= size)


def make_durable(deps: Deps, job_id: str, placement_id: str) -> None:
    """Before a job counts as ended, its log is on the disk."""
    path = _path(deps, job_id, placement_id)
    if not path.exists():
        return
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def remove(deps: Deps, job_id: str) -> None:
    """All logs of a job. Removing what is not there is success."""
    folder = _folder(deps, job_id)
    if folder.is_dir():
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
        folder.rmdir()


def _tell(deps: Deps, job: Job, size: int) -> None:
    """Agents send what has gathered a few times a second, however fast a log grows; so this is not often either."""
    data = {"project": job.project, "id": job.id, "what": "grown", "size": size}
    deps.events.publish(f"log:{job.id}", project_id=job.project_id, data=data)


def _folder(deps: Deps, job_id: str) -> Path:
    return deps.settings.logs_dir / job_id[:2] / job_id


def _path(deps: Deps, job_id: str, placement_id: str) -> Path:
    return _folder(deps, job_id) / f"{placement_id}.log"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write(path: Path, offset: int, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        view = memoryview(data)
        while view:
            written = os.pwrite(descriptor, view, offset)
            view, offset = view[written:], offset + written
    except OSError as error:
        raise DiskFull("The server cannot write a job's log.", hint="Make room in its data directory.") from error
    finally:
        os.close(descriptor)


def _read(path: Path, offset: int, limit: int) -> bytes:
    if limit <= 0:
        return b""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(limit)
