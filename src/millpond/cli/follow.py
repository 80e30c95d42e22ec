"""Following a job: its log on stdout, its states on stderr, its end as an exit code."""

from __future__ import annotations

import time

import typer

from millpond.cli.session import Session
from millpond.client.jobs import POLL_SECONDS, get_job
from millpond.client.logs import read_all, read_log
from millpond.model.job import JobState
from millpond.model.quantity import format_seconds
from millpond.wire.jobs import Job

FAILED = 100
NOT_FINISHED = 101
CANCELLED = 103

# The end of a log may arrive after the job's: its agent may be away.
_LATE_SECONDS = 20.0


def follow_job(mill: Session, job: Job) -> Job:
    """Print the job's log and its states until it has ended and the log is complete.

    For a distributed job, that is the log of rank 0, and at the end the log of the rank that failed.
    """
    rank = 0 if job.spec.ranks else None
    offset, attempt, seen, late = 0, 0, "", 0.0
    say_state = StateNotes(mill)
    place = (mill.api, job.project, job.id)
    while True:
        found = get_job(*place)
        if found.state.value != seen:
            say_state(found)
        seen = found.state.value
        piece = read_log(*place, offset, rank=rank)
        if piece.attempt != attempt:
            # It was placed, or is tried again: what it writes now begins anew, behind the rest of what it wrote before.
            for content in read_all(*place, offset, attempt, rank) if attempt else ():
                _write(mill, content)
            attempt, offset = piece.attempt, 0
            continue
        offset = piece.offset
        _write(mill, piece.content)
        if found.state.is_finished and not piece.content:
            if piece.complete or late >= _LATE_SECONDS:
                _show_failed(mill, found)
                return found
            late += POLL_SECONDS
        if not piece.content:
            time.sleep(POLL_SECONDS)


def _show_failed(mill: Session, job: Job) -> None:
    if not job.failed_rank:
        return
    mill.out.note(f"Rank {job.failed_rank} failed first. Its output:")
    for content in read_all(mill.api, job.project, job.id, rank=job.failed_rank):
        _write(mill, content)


def _write(mill: Session, content: bytes) -> None:
    """Write to stdout; with --json to stderr, because stdout holds the job."""
    raw = mill.out.stderr.buffer if mill.out.as_json else mill.out.raw
    raw.write(content)
    raw.flush()


class StateNotes:
    """Prints what jobs do or wait for, each reason once. `end_with` prints their end."""

    def __init__(self, mill: Session) -> None:
        self._mill = mill
        self._said: dict[str, str] = {}

    def __call__(self, job: Job) -> None:
        if job.state.is_finished:
            return
        reason = job.reasons[-1] if job.reasons else ""
        ending = f": {reason}" if reason and reason != self._said.get(job.id) else "."
        self._said[job.id] = reason
        self._mill.out.note(f"{job.written} ({job.id}) is {job.state.value}{ending}")


def end_with(mill: Session, job: Job) -> None:
    """Print how the job ended and exit with the matching code."""
    if code := say_end(mill, job):
        raise typer.Exit(code)


def say_end(mill: Session, job: Job) -> int:
    """Print how the job ended; return the matching exit code."""
    took = format_seconds(job.ledger.total)
    if job.state is JobState.SUCCEEDED:
        mill.out.note(f"{job.written} ({job.id}) succeeded after {took}.")
        return 0
    if not job.state.is_finished:
        mill.out.note(f"{job.written} ({job.id}) is {job.state.value}.")
        return NOT_FINISHED
    if job.state is JobState.CANCELLED:
        mill.out.note(f"{job.written} ({job.id}) was cancelled after {took}.")
        return CANCELLED
    how = job.problem or (f"signal {job.signal}" if job.signal else f"exit code {job.exit_code}")
    mill.out.note(f"{job.written} ({job.id}) failed after {took}: {how}")
    return FAILED
