"""Logged models: what a training run has made, as MLflow 3 records it. Their files are artifacts of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# The folder of all of them among the artifacts of a run.
LOGGED_MODELS = "models"
# MLflow's words for how far a model is.
STATUSES = ("LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED")


@dataclass(frozen=True, slots=True)
class LoggedModel:
    id: str
    project_id: str
    experiment: str
    name: str
    type: str
    # The run that has its files.
    run_id: str
    status: str
    created_by: str
    created_at: datetime
    changed_at: datetime
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    # The last value of each key and dataset, as MLflow's clients wrote it.
    metrics: tuple[Mapping[str, Any], ...] = ()
    deleted_at: datetime | None = None

    @property
    def folder(self) -> str:
        """Where its files are among the artifacts of its run."""
        return f"{LOGGED_MODELS}/{self.id}"
