"""Runs of flows: how far each step has come, and what it made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
