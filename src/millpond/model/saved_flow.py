"""Flows as a project keeps them: a name, and numbered versions that are commits of `.flows`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SavedFlow:
    id: str
    project_id: str
    project: str
    name: str
    description: str
    # The number of the newest version.
    newest: int
    created_by: str
    created_at: datetime
    changed_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FlowVersion:
    """`digest` is that of all but positions on the page: a version whose nodes were moved is the same version."""

    flow_id: str
    number: int
    digest: str
    commit_id: str
    text: str
    steps: int
    saved_by: str
    saved_at: datetime
