"""Saved views: how a list of runs is narrowed, ordered and shown, under a name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """Texts as lists of runs take them (decide/run_filter.py); empty for what is left as it is."""

    experiment: str = ""
    filter: str = ""
    sort: str = ""
    columns: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class SavedView:
    """Of a project: everybody's if it is shared, otherwise its owner's alone."""

    id: str
    project_id: str
    name: str
    # The id of a user; None if it is shared.
    owner_id: str | None
    created_by: str
    changed_at: datetime
    query: ViewQuery

    @property
    def is_shared(self) -> bool:
        return self.owner_id is None
