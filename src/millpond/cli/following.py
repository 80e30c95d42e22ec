"""Following a job: its log on stdout, its states on stderr, its end as an exit code."""

from __future__ import annotations

import time

import typer

from millpond.cli.session import Session
from millpond.client.jobs import POLL_SECONDS, follow_log, get_job, read_log
from millpond.model.job import JobState
from millpond.model.quantity import format_seconds
from millpond.wire.work import Job

FAILED = 100
NOT_FINISHED = 101
CANCELLED = 103

_TAIL_BYTES = 64 << 10
# The end of a log may arrive after the job's: its agent may be away.
_LATE_SECONDS = 20.0


def copy_log(mill: Session, job: Job, offset: int, *, follow: bool) -> None:
    """Write the log's bytes from `offset` on as they are; they belong to the job and may be anything."""
    raw = mill.out.stdout.buffer
    mill.out.stdout.flush()
    if follow:
        for content in follow_log(mill.api, job.project, job.id, offset):
            raw.write(content)
            raw.flush()
        return
    while True:
        piece = read_log(mill.api, job.project, job.id, offset)
        raw.write(piece.content)
        if not piece.content:
            raw.flush()
            return
        offset = piece.offset


def follow_job(mill: Session, job: Job) -> Job:
    """Write the job's log as it grows and say its states, until it has ended and its log is whole."""
    offset, seen, late = 0, "", 0.0
    while True:
        found = get_job(mill.api, job.project, job.id)
        if found.state.value != seen:
            say_state(mill, found)
        seen = found.state.value
        piece = read_log(mill.api, job.project, job.id, offset)
        offset = piece.offset
        mill.out.stdout.flush()
        mill.out.stdout.buffer.write(piece.content)
        mill.out.stdout.buffer.flush()
        if found.state.is_finished and not piece.content:
            if piece.complete or late >= _LATE_SECONDS:
                return found
            late += POLL_SECONDS
        if not piece.content:
            time.sleep(POLL_SECONDS)


def copy_log_end(mill: Session, job: Job, lines: int) -> int:
    """Write the last `lines` lines there are now; the offset of what comes after them."""
    size = _TAIL_BYTES
    while True:
        piece = read_log(mill.api, job.project, job.id, -size, size)
        whole = len(piece.content) < size
        if whole or piece.content.count(b"\n") > lines:
            break
        size *= 4
    kept = piece.content.splitlines(keepends=True)[-lines:] if lines else []
    mill.out.stdout.flush()
    mill.out.stdout.buffer.write(b"".join(kept))
    mill.out.stdout.buffer.flush()
    return piece.offset


def say_state(mill: Session, job: Job) -> None:
    """What a job waits for or does now. Its end is said by `end_with`."""
    if job.state.is_finished:
        return
    reason = f": {job.reasons[-1]}" if job.reasons else ""
    mill.out.note(f"{job.written} ({job.id}) is {job.state.value}{reason}")


def end_with(mill: Session, job: Job) -> None:
    """Say how the job ended and leave with the code that stands for it."""
    took = format_seconds(job.ledger.total)
    if job.state is JobState.SUCCEEDED:
        mill.out.note(f"{job.written} ({job.id}) succeeded after {took}.")
        return
    if not job.state.is_finished:
        mill.out.note(f"{job.written} ({job.id}) is {job.state.value}.")
        raise typer.Exit(NOT_FINISHED)
    if job.state is JobState.CANCELLED:
        mill.out.note(f"{job.written} ({job.id}) was cancelled after {took}.")
        raise typer.Exit(CANCELLED)
    how = job.problem or (f"signal {job.signal}" if job.signal else f"exit code {job.exit_code}")
    mill.out.note(f"{job.written} ({job.id}) failed after {took}: {how}")
    raise typer.Exit(FAILED)
