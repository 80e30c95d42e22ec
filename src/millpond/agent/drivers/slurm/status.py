"""How a placement stands, concluded from the keeper's files and from what Slurm says of its job.

The keeper's word counts first. What it did not live to say is taken from Slurm; and where neither can vouch that
nothing of the job is left (its node is gone, Slurm has forgotten it), its end is told only after its keeper, wherever
it may be, has certainly ended it by its own clock.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.agent import mpi
from millpond.agent.drivers import Exited, Lost, Pending, Reason, Running, Status, records
from millpond.agent.drivers.slurm.commands import SlurmJob
from millpond.agent.drivers.slurm.reasons import ending_words, waiting_words
from millpond.agent.drivers.slurm.script import why_not_begun
from millpond.agent.spec import read_spec

# Beyond validity and grace, until a keeper that nobody hears of has certainly ended its command.
MARGIN_SECONDS = 30.0
# Signals, and a shell's word for them, with which Slurm or the kernel may have ended the command.
_KILLED = (signal.SIGTERM, signal.SIGKILL)
_KILLED_CODES = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
_SILENT = ("NODE_FAIL", "BOOT_FAIL")


@dataclass
class WatchedJob:
    """What was found of one placement's job. `since`: from when on it was looked for; all times are monotonic."""

    job_id: str
    since: float
    job: SlurmJob | None = None
    # When the last look began that can tell of it.
    looked: float | None = None
    # When it was first seen to have ended, or to be unknown.
    ended: float | None = None
    # When the keeper's last word was first seen.
    said: float | None = None
    kill_at: float | None = None

    def take(self, job: SlurmJob | None, began: float) -> None:
        """Take what a look that began at `began` has found; one that began before the job was given tells nothing."""
        if job is None and began < self.since:
            return
        self.job, self.looked = job, began
        if job is not None and not job.has_ended:
            self.ended = None
        elif self.ended is None:
            self.ended = began

    def is_overdue(self, now: float) -> bool:
        return self.kill_at is not None and now > self.kill_at and self.ended is None and bool(self.job_id)


def standing(directory: Path, watched: WatchedJob, now: float, settle: float) -> Status:
    said = records.exited(directory)
    if said is not None:
        # Slurm itself ends what a launcher has left on other nodes.
        if watched.ended is None and watched.job_id and _is_mpi(directory):
            return Running(said.started_at)
        return _explained(directory, said, watched, now)
    job = watched.job
    claimed = records.owner(directory) is not None
    if watched.ended is None:
        if claimed:
            return Running(records.started_at(directory))
        return Pending(_why_waiting(job))
    if not claimed:
        return _never_began(directory, job)
    # Listing the directory makes a network file system look again for files that were not there a moment ago.
    if now < watched.ended + settle or "exit.json" in os.listdir(directory):
        return Running(records.started_at(directory))
    return _without_a_word(directory, watched, now)


def _is_mpi(directory: Path) -> bool:
    spec = read_spec(directory)
    return spec is not None and mpi.is_mpi(spec.asked)


def _why_waiting(job: SlurmJob | None) -> str:
    if job is None:
        return "Submitted to Slurm"
    return waiting_words(job) if job.is_waiting else f"Starting on {job.nodes}"


def _explained(directory: Path, said: Exited, watched: WatchedJob, now: float) -> Status:
    """The keeper knows how the command ended; why it was killed, Slurm may know better."""
    if said.reason is Reason.TERMINATED and (directory / records.STOP).exists():
        return replace(said, reason=Reason.STOPPED, rank=None)
    killed = said.signal in _KILLED or said.exit_code in _KILLED_CODES
    if said.reason is not Reason.TERMINATED and not (killed and said.reason is None):
        return said
    watched.said = watched.said or now
    if watched.looked is None or watched.looked < watched.said or watched.ended is None:
        return Running(said.started_at)
    job = watched.job
    if job is None or ending_words(job) is None:
        return said
    return replace(said, reason=_reason(job), problem=ending_words(job))


def _reason(job: SlurmJob) -> Reason:
    known = {"OUT_OF_MEMORY": Reason.OUT_OF_MEMORY, "CANCELLED": Reason.CANCELLED}
    return known.get(job.state, Reason.TERMINATED)


def _never_began(directory: Path, job: SlurmJob | None) -> Status:
    """No keeper has it. Claimed here, none will: should one begin after all, it leaves at once."""
    cancelled = job is not None and job.state == "CANCELLED" and not (directory / records.STOP).exists()
    records.give_up(directory, _why_never(directory, job), Reason.CANCELLED if cancelled else Reason.NOT_STARTED)
    return records.exited(directory) or Running(None)


def _why_never(directory: Path, job: SlurmJob | None) -> str | None:
    if (directory / records.STOP).exists():
        return None
    if job is None:
        return "Slurm no longer knows the job, which had not started."
    if job.state == "CANCELLED":
        return f"{str(ending_words(job)).removesuffix('.')} before it started."
    why = why_not_begun(job.exit_code, job.nodes, directory, _last_line(directory / "keeper.log"))
    return why or f"Slurm could not start the job: {waiting_words(job).removeprefix('Slurm: ')}."


def _without_a_word(directory: Path, watched: WatchedJob, now: float) -> Status:
    """Its keeper began and has left no word."""
    started_at = records.started_at(directory)
    job, spec = watched.job, read_spec(directory)
    if (job is None or job.state in _SILENT) and spec is not None and watched.ended is not None:
        records.ask_to_stop(directory)
        if now < watched.ended + spec.unheard_seconds + spec.grace_seconds + MARGIN_SECONDS:
            return Running(started_at)
    if job is None:
        return Lost("Slurm no longer knows the job, and its keeper left no exit status.", started_at)
    if job.state in ("TIMEOUT", "DEADLINE", "CANCELLED", "OUT_OF_MEMORY"):
        stopped = job.state == "CANCELLED" and (directory / records.STOP).exists()
        reason = Reason.STOPPED if stopped else _reason(job)
        problem = None if stopped else ending_words(job)
        return Exited(signal=signal.SIGKILL, reason=reason, problem=problem, started_at=started_at)
    return Lost(ending_words(job) or "The keeper of the job was killed.", started_at)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except FileNotFoundError:
        return ""
    return lines[-1] if lines else ""
