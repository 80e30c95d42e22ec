"""Jobs, their placements and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal, TypeAlias

# What a compute does about parts of a GPU: refuse them, count them, or keep jobs to theirs.
GpuFractions: TypeAlias = Literal["none", "accounted", "enforced"]


class JobState(Enum):
    QUEUED = "queued"
    PLACED = "placed"
    PREPARING = "preparing"
    RUNNING = "running"
    PREEMPTED = "preempted"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class JobKind(Enum):
    TRAINING = "training"
    INTERACTIVE = "interactive"
    STEP = "step"
    SERVICE = "service"
    # Builds the packages that other jobs asked for; made by the server.
    ENVIRONMENT = "environment"


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
    PROBLEM = "problem"  # it could not be run, or what it made could not be saved

    @property
    def is_loss(self) -> bool:
        """Nothing the job did: it is placed again, however often, and that counts as no retry."""
        return self in (Ending.LOST, Ending.EXPIRED, Ending.TERMINATED)


@dataclass(frozen=True, slots=True)
class Dependency:
    """A job that must have ended before this one begins; `success`: and must have succeeded."""

    job_id: str
    when: str = "success"  # or "any"


@dataclass(frozen=True, slots=True)
class JobInput:
    """One dataset at one commit, and the environment variable that tells the job where it lies."""

    project: str
    dataset: str
    dataset_id: str
    ref: str
    commit_id: str
    env: str


@dataclass(frozen=True, slots=True)
class Resources:
    """Zero CPU or memory means: no reservation, best effort. GPUs are whole hundredths."""

    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    # A part of a GPU must be kept to, and not only counted.
    gpu_enforced: bool = False


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where one process of a distributed job is to run, and the GPUs that it was given there."""

    node: str
    gpu_indices: tuple[int, ...] = ()


class RankState(Enum):
    WAITING = "waiting"  # for the others: all start, or none
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Rank:
    """What is known of one process of a distributed job."""

    rank: int
    state: RankState
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    project_id: str
    project: str
    name: str
    number: int  # the how-manyth job of this name in the project: NAME#2
    kind: JobKind
    command: tuple[str, ...]
    env: Mapping[str, str]
    # Of a distributed job: of each process.
    resources: Resources
    image: str | None
    code_commit: str | None
    inputs: tuple[JobInput, ...]
    state: JobState
    # Why it is in this state, newest last: one sentence each, shown by `mill why`.
    reasons: tuple[str, ...]
    run_id: str
    created_by: str
    stop_requested_at: datetime | None
    queued_at: datetime
    placed_at: datetime | None
    filled_at: datetime | None
    started_at: datetime | None
    exited_at: datetime | None
    ended_at: datetime | None
    deleted_at: datetime | None
    exit_code: int | None
    signal: int | None
    problem: str | None
    output_commit: str | None
    placement_id: str | None
    compute: str | None
    node: str | None
    # The one compute it may run on; None for any.
    wanted_compute: str | None = None
    # Higher ones are tried first.
    priority: int = 0
    # Of one attempt; 0 for no limit.
    timeout_seconds: int = 0
    # How often it may be tried again after which endings (decide/retry.py), waiting so long before the first time.
    retries: int = 0
    retry_on: tuple[str, ...] = ()
    backoff_seconds: int = 5
    after: tuple[Dependency, ...] = ()
    # The number of the newest attempt, how many counted as retries, how many were lost without its doing.
    attempt: int = 0
    retried: int = 0
    losses: int = 0
    # Since when it waits for its next attempt, and until when it must.
    requeued_at: datetime | None = None
    not_before: datetime | None = None
    # How the newest attempt ended; None while it has not, and after success.
    ending: Ending | None = None
    # From 0 to 1, as the job itself says.
    progress: float | None = None
    # The commit that says what its environment holds; the job that builds that where it runs, the commit that came of
    # it, and until when it was waited for.
    environment_source: str | None = None
    environment_job: str | None = None
    environment_commit: str | None = None
    environment_at: datetime | None = None
    # How its part of a GPU is kept to where it was placed; None for whole ones.
    gpu_share: GpuFractions | None = None
    # Ports that people open in a browser; after how long without anybody it is stopped (0: never); its last use.
    ports: tuple[int, ...] = ()
    idle_seconds: int = 0
    used_at: datetime | None = None
    # The secrets of its project that it is given: their names by variables.
    secrets: Mapping[str, str] = field(default_factory=dict)
    # How many processes start together, or none; 0 for a plain command. Which of them failed first, and ended all.
    processes: int = 0
    failed_rank: int | None = None
    # What it asks of the driver that runs it, like the partition of a cluster.
    options: Mapping[str, str] = field(default_factory=dict)


class PlacementState(Enum):
    """How far its agent says that a placement has come: in this order, never back.

    The server's desire is `stop_at` on it and the job's state.
    """

    PLACED = "placed"
    PREPARING = "preparing"
    RUNNING = "running"
    SAVING = "saving"  # the command has ended, its outputs are on the way to the lake
    FINISHED = "finished"

    @property
    def has_begun(self) -> bool:
        """Its command runs or ran: an agent that says so has it on its disk."""
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
    # The how-manyth attempt of its job, and how it went.
    number: int = 1
    started_at: datetime | None = None
    exited_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    ending: Ending | None = None
    problem: str | None = None
    # Of a distributed job, by rank: where each process is to run, and what was last heard of it.
    places: tuple[RankPlace, ...] = ()
    ranks: tuple[Rank, ...] = ()
