"""Experiments: named groups of runs of one project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Experiment:
    """`number` is its id for MLflow's clients. A name stays taken while the experiment is in the bin."""

    number: int
    project_id: str
    name: str
    tags: Mapping[str, str]
    created_at: datetime
    changed_at: datetime
    deleted_at: datetime | None = None
