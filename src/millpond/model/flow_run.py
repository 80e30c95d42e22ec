"""Runs of flows: how far each step has come, and what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any


class StepState(Enum):
    """The states of a job, and those a step has before and instead of one."""

    WAITING = "waiting"  # for other steps, or for an approval
    READY = "ready"  # may start; held back only by `max_parallel`
    QUEUED = "queued"
    PLACED = "placed"
    PREPARING = "preparing"
    RUNNING = "running"
    PREEMPTED = "preempted"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    REMEMBERED = "remembered"

    @property
    def is_finished(self) -> bool:
        return self.is_success or self in (StepState.FAILED, StepState.CANCELLED, StepState.SKIPPED)

    @property
    def is_success(self) -> bool:
        return self in (StepState.SUCCEEDED, StepState.REMEMBERED)

    @property
    def has_begun(self) -> bool:
        return self not in (StepState.WAITING, StepState.READY, StepState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Files:
    """Files that a step made or a dataset holds: a commit of the lake, or a folder of a local run."""

    place: str
    type: str = "directory"


@dataclass(frozen=True, slots=True)
class StepRun:
    """One execution of a step. `index` is its place in the list that the step runs over; None for a plain step."""

    step: str
    index: int | None = None
    each: Mapping[str, Any] = field(default_factory=dict)
    state: StepState = StepState.WAITING
    reason: str = ""
    # Values, and `Files` for everything else.
    outputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.step if self.index is None else f"{self.step}[{self.index}]"


@dataclass(frozen=True, slots=True)
class FlowRunState:
    """Everything that decides what runs next. A step that is missing in `steps` has not been expanded yet."""

    run_id: str
    params: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, tuple[StepRun, ...]] = field(default_factory=dict)
    trigger_commit: str | None = None
    is_cancelled: bool = False


class FlowRunPhase(Enum):
    QUEUED = "queued"  # other runs of the flow must end first (`concurrency`)
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # the flow was busy (`concurrency: {then: skip}`)

    @property
    def is_finished(self) -> bool:
        return self not in (FlowRunPhase.QUEUED, FlowRunPhase.RUNNING)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run differs from what its flow says."""

    # Template or queue for every step.
    on: str | None = None
    # Start at this step, or run it alone; what it needs is taken from an earlier run.
    from_step: str | None = None
    only_step: str | None = None
    remember: bool = True
    # Parameters of single steps, by step and name: `--set STEP.PARAM=VALUE`.
    step_params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunTrigger:
    """What started a run: `manual`, or a trigger of its flow. `by` is a person, or what a trigger says of itself."""

    type: str = "manual"
    by: str = ""
    commit: str | None = None
    # Of a schedule: the time that the run is for.
    scheduled_at: datetime | None = None
    # The trigger or the backfill that started it.
    trigger_id: str | None = None
    backfill_id: str | None = None


@dataclass(frozen=True, slots=True)
class FlowRun:
    """One run of a flow. `number` counts the runs of the flow: NAME#NUMBER."""

    id: str
    project_id: str
    project: str
    flow_id: str
    flow: str
    number: int
    version: int
    phase: FlowRunPhase
    reason: str
    trigger: RunTrigger
    params: Mapping[str, Any]
    options: RunOptions
    # What the run uses, fixed at its start (services/flows/pins.py).
    pins: Mapping[str, Any]
    created_by: str
    # Whose rights publishing and registering have.
    run_as: str
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    cancelled_by: str | None = None
    # What was published so far: the commit of each branch.
    published: Mapping[str, str] = field(default_factory=dict)
    # Counted up by every transaction that changes the run.
    revision: int = 0
    # True if what comes next is to be decided, besides when a job ends.
    due: bool = True

    @property
    def written(self) -> str:
        return f"{self.flow}#{self.number}"


@dataclass(frozen=True, slots=True)
class FlowStep:
    """One execution of a step, as it is kept. `index` is -1 for a step that runs once."""

    id: str
    run_id: str
    step: str
    index: int
    state: StepState
    reason: str = ""
    each: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    # Files as they are written (`project/.outputs@COMMIT:name`), lists of them for a fan-in.
    inputs: Mapping[str, Any] = field(default_factory=dict)
    # Values as they are, files as `{"files": …, "type": …}`.
    outputs: Mapping[str, Any] = field(default_factory=dict)
    job_id: str | None = None
    memo_key: str | None = None
    # The step that made what is used here: NAME#RUN/STEP[INDEX].
    remembered_from: str | None = None
    # How often it was started, with retries of the run.
    attempts: int = 0
    ready_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # Of an approval: when it fails by itself.
    expires_at: datetime | None = None

    @property
    def label(self) -> str:
        return self.step if self.index < 0 else f"{self.step}[{self.index}]"
