"""Join tokens and tests of computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

# Tells a join token from every other: an agent exchanges it, and never keeps it.
JOIN_PREFIX = "mill_join_"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a place takes. Where jobs can read each other's files (`shared`): all, or projects that were let in."""

    shared: bool = False
    all: bool = False
    projects: frozenset[str] = frozenset()  # by id

    def accepts(self, project_id: str) -> bool:
        return not self.shared or self.all or project_id in self.projects


# Every project is kept from the others there, and may come.
APART = Trust()


@dataclass(frozen=True, slots=True)
class JoinToken:
    """Lets one agent in at one site, once, until it expires; only its SHA-256 is stored."""

    id: str
    site_id: str
    site: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    agent_id: str | None = None
    # The name of that agent's compute, while it is attached.
    compute: str | None = None


@dataclass(frozen=True, slots=True)
class ComputeTest:
    """What an agent was asked to try out, and found. `checks` is None until it has told."""

    id: str
    agent_id: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None = None
    checks: Sequence[Mapping[str, Any]] | None = None
