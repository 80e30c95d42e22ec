"""Jobs: identity and status; their placements and ranks. What was asked is in job_spec.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Literal, TypeAlias

from millpond.model.job_spec import JobSpec
from millpond.model.template import TemplateUse

# What a compute does about parts of a GPU: refuse them, count them, or keep jobs to theirs.
GpuFractions: TypeAlias = Literal["none", "accounted", "enforced"]


class JobState(Enum):
    QUEUED = "queued"
    PLACED = "placed"
    PREPARING = "preparing"
    RUNNING = "running"
    PREEMPTED = "preempted"
    # Kept out of the queue until somebody resumes it.
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Ending(Enum):
    """How an attempt to run a job ended, other than by success."""

    EXIT = "exit"  # an exit status other than 0
    SIGNAL = "signal"
    OOM = "oom"  # it used more than its memory
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    LOST = "lost"  # its machine restarted, or its keeper was killed
    EXPIRED = "expired"  # its placement ran out: server and agent did not hear of each other
    TERMINATED = "terminated"  # the machine was shutting down, or its engine took the place away
    PREEMPTED = "preempted"  # another job needed its room
    SUSPENDED = "suspended"  # somebody asked for it
    PROBLEM = "problem"  # it could not be run, or what it made could not be saved

    @property
    def is_loss(self) -> bool:
        """True if the attempt was lost through no fault of the job: it is placed again without counting as a retry."""
        return self in (Ending.LOST, Ending.EXPIRED, Ending.TERMINATED)


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Node and GPUs of one process of a distributed job."""

    node: str
    gpu_indices: tuple[int, ...] = ()


class RankState(Enum):
    WAITING = "waiting"  # for the others: all start, or none
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Rank:
    """State of one process of a distributed job."""

    rank: int
    state: RankState
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Status of a job: everything that changes after it was submitted."""

    state: JobState = JobState.QUEUED
    # Why it is in this state, newest last: one sentence each, shown by `mill why`.
    reasons: tuple[str, ...] = ()
    stop_requested_at: datetime | None = None
    placed_at: datetime | None = None
    filled_at: datetime | None = None
    started_at: datetime | None = None
    exited_at: datetime | None = None
    ended_at: datetime | None = None
    deleted_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    # How the newest attempt ended; None while it has not, and after success.
    ending: Ending | None = None
    problem: str | None = None
    output_commit: str | None = None
    # Since when somebody wants it suspended; it is when it has no placement any more.
    suspended_at: datetime | None = None
    # The newest checkpoint, which the next attempt starts from, and when it was saved.
    checkpoint_commit: str | None = None
    saved_at: datetime | None = None
    # Where it is, or was last.
    placement_id: str | None = None
    compute: str | None = None
    node: str | None = None
    # How its part of a GPU is kept to there; None for whole ones.
    gpu_share: GpuFractions | None = None
    # The number of the newest attempt, how many counted as retries, how many were lost without its doing.
    attempt: int = 0
    retried: int = 0
    losses: int = 0
    # Since when it waits for its next attempt, and until when it must.
    requeued_at: datetime | None = None
    not_before: datetime | None = None
    # From 0 to 1, as the job itself says.
    progress: float | None = None
    # The job that builds its environment where it runs, the commit that came of it, and until when it was waited for.
    environment_job: str | None = None
    environment_commit: str | None = None
    environment_at: datetime | None = None
    # When somebody last used an interactive job.
    used_at: datetime | None = None
    # Of a distributed job: which process failed first, and ended all.
    failed_rank: int | None = None
    # The template it is planned with, or runs on, and what of its spec came from there.
    template: TemplateUse | None = None
    # The rule under which it waits or was placed (docs/design/014); `waits_for`: what it waits for, where that is
    # known of this one job alone.
    rule: str | None = None
    waits_for: str | None = None
    # How often it was preempted, and when within the last hour, in seconds since the epoch.
    preemptions: int = 0
    preempted_at: tuple[float, ...] = ()
    # Of a step of a flow: the values that it wrote, and the names of outputs that are files.
    step_made: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job: its identity, its spec and its status."""

    id: str
    project_id: str
    project: str
    name: str
    number: int  # ordinal among the jobs of this name in the project: NAME#2
    run_id: str
    created_by: str
    # When it was submitted; attempts after the first do not change it.
    queued_at: datetime
    # What was asked, with what its template adds (`status.template`).
    spec: JobSpec
    status: JobStatus = JobStatus()
    # What was traced when it was submitted (W3C's traceparent): its start and end belong to it.
    trace: str | None = None

    def changed(self, **status: Any) -> Job:
        """A copy with these fields of the status changed."""
        return replace(self, status=replace(self.status, **status))


@dataclass(frozen=True, slots=True)
class StateChange:
    """`by` is who or what caused it: a user's name, or the id of the job that this one made room for."""

    job_id: str
    at: datetime
    before: JobState | None
    after: JobState
    rule: str | None = None
    by: str | None = None
    node: str | None = None
    attempt: int | None = None


class PlacementState(Enum):
    """Progress of a placement as its agent reports it: in this order, never back.

    What the server wants is in `stop_at` and the job's state.
    """

    PLACED = "placed"
    PREPARING = "preparing"
    RUNNING = "running"
    SAVING = "saving"  # the command has ended, its outputs are on the way to the lake
    FINISHED = "finished"

    @property
    def has_begun(self) -> bool:
        """True if the command has started: an agent that reports this has a record of it on disk."""
        return self in (PlacementState.RUNNING, PlacementState.SAVING, PlacementState.FINISHED)


@dataclass(frozen=True, slots=True)
class Placement:
    """One attempt to run a job on one agent's compute, fenced by its id and its token."""

    id: str
    job_id: str
    compute_id: str
    # The agent that was told to run it: one that comes after it knows nothing of it.
    agent_id: str
    node: str
    state: PlacementState
    valid_seconds: int
    # The GPUs it holds: whole ones first, then the one it holds a fraction of.
    gpu_indices: tuple[int, ...]
    created_at: datetime
    renewed_at: datetime
    ended_at: datetime | None
    # Ordinal among the attempts of its job, and how it went.
    number: int = 1
    # Between SIGTERM and SIGKILL.
    grace_seconds: int = 30
    started_at: datetime | None = None
    exited_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    ending: Ending | None = None
    problem: str | None = None
    # Of a distributed job, by rank: where each process is to run, and what was last heard of it.
    places: tuple[RankPlace, ...] = ()
    ranks: tuple[Rank, ...] = ()
    # What each place would have cost when it was made (decide/score_table.py).
    scores: tuple[Mapping[str, Any], ...] = ()
