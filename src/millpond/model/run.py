"""Runs: the record of a job, or of a script run anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from millpond.model.job import JobState


class RunState(Enum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # a script that stopped reporting without saying how it ended


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    project_id: str
    project: str
    experiment: str
    name: str
    job_id: str | None
    state: RunState
    params: Mapping[str, Any]
    tags: Mapping[str, str]
    created_by: str
    started_at: datetime
    ended_at: datetime | None
    seen_at: datetime
    deleted_at: datetime | None
    # Of its job, as it was read: a run knows no waiting.
    job_state: JobState | None = None


@dataclass(frozen=True, slots=True)
class MetricPoint:
    key: str
    step: int
    value: float
    at: datetime


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
