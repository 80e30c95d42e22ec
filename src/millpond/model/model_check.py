"""The check of a version of a model: loaded and run once in a job, before anyone serves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class CheckState(StrEnum):
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """The newest check of a version. `report` is what `millpond.serve.check` wrote; empty until it has."""

    state: CheckState
    job_id: str
    by: str
    at: datetime
    error: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
