"""Runs: the record of a job, or of a script run anywhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from millpond.model.job import JobState
from millpond.model.series import Points, Summary

DEFAULT_EXPERIMENT = "default"
MAX_KEY = 250
MAX_NAME = 200
RUN_ID = re.compile(r"[0-9a-z]{8,32}")
MAX_VALUE_BYTES = 64 << 10
MAX_NOTES_BYTES = 256 << 10


class RunState(Enum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # a script that stopped reporting without saying how it ended

    @property
    def is_finished(self) -> bool:
        return self is not RunState.RUNNING


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    project_id: str
    project: str
    experiment: str
    name: str
    job_id: str | None
    state: RunState
    created_by: str
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    deleted_at: datetime | None
    # A run of the same project that this one is a part of; it may be gone.
    parent_id: str | None = None
    # How many batches of points wait to be folded into chunks (docs/design/016).
    unfolded: int = 0
    # Of its job, as it was read: a run knows no waiting.
    job_state: JobState | None = None


@dataclass(frozen=True, slots=True)
class ParamChange:
    """A value that a parameter had before."""

    value: Any
    until: str  # ISO 8601


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with parameters, tags and metrics: all of them, or those that a list was asked for."""

    run: Run
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Summary] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What only the details of a run show. `origin` is what the script recorded of itself (docs/tracking.md)."""

    notes: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Mapping[str, Any], ...] = ()
    # Models that it has logged, by id.
    outputs: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class RunDetails:
    view: RunView
    record: RunRecord
    # Earlier values of parameters that were changed, oldest first.
    changes: Mapping[str, tuple[ParamChange, ...]]
    children: int


@dataclass(frozen=True, slots=True)
class NewRun:
    """What is asked for when a run is created. Without `resume`, a run of this id that exists is left as it is."""

    id: str | None = None
    name: str | None = None
    # None: that of the parent, else the default one.
    experiment: str | None = None
    parent_id: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    started_at: datetime | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a client reports at once. A report with a writer counts once per sequence number."""

    writer: str | None = None
    sequence: int = 0
    name: str | None = None
    experiment: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # Refuse the whole report if a parameter has another value already, as MLflow does.
    fixed_params: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[str, Points] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)
    # Datasets that the run has used, as MLflow describes them; one of the same name and digest is kept once.
    inputs: tuple[Mapping[str, Any], ...] = ()
    outputs: tuple[Mapping[str, Any], ...] = ()
    progress: float | None = None
    ended: RunState | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunEdit:
    """What somebody changes about a run; None leaves a field as it is. A tag of None is removed."""

    name: str | None = None
    experiment: str | None = None
    notes: str | None = None
    tags: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageSample:
    """What a job used at one moment: CPU since the sample before, block and network I/O in all since its start."""

    at: datetime
    cpu_percent: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    network_shared: bool | None = None
