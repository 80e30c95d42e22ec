"""What fills brought over links, in bytes and money, and the budgets that people set for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from millpond.model.fill_source import SourceKey

GB = 10**9
# The other end of objects that commits refer to outside the lake.
OUTSIDE = "outside"
# The budget of all projects together.
ALL_PROJECTS = ""


@dataclass(frozen=True, slots=True)
class Egress:
    """What came on one day (`2026-11-18`, UTC) to a site from the lake, a site or outside, for a project."""

    day: str
    project_id: str
    site_id: str
    source_id: str
    bytes: int
    money: float = 0.0


@dataclass(frozen=True, slots=True)
class CountedFill:
    """What of the reports on a fill was counted already: of which attempt, which try of it, and from each source."""

    cached_id: str
    attempt: int
    session: str
    given: Mapping[SourceKey, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EgressBudget:
    """What may come over links with a price in a month, for a project or for all (`ALL_PROJECTS`)."""

    project_id: str
    set_by: str
    set_at: datetime
    bytes: int | None = None
    money: float | None = None
    warn_percent: int = 80
