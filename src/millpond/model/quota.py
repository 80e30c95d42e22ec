"""What a project may take of what all share: room in the lake and in caches, running jobs, API calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class QuotaKind(Enum):
    LAKE = "lake"
    CACHED = "cached"
    JOBS = "jobs"
    CALLS = "calls"

    @property
    def is_bytes(self) -> bool:
        return self in (QuotaKind.LAKE, QuotaKind.CACHED)


@dataclass(frozen=True, slots=True)
class ProjectQuota:
    """What administrators have set; None: no limit."""

    lake_bytes: int | None = None
    cached_bytes: int | None = None
    jobs: int | None = None
    calls_per_minute: int | None = None

    def of(self, kind: QuotaKind) -> int | None:
        return {
            QuotaKind.LAKE: self.lake_bytes,
            QuotaKind.CACHED: self.cached_bytes,
            QuotaKind.JOBS: self.jobs,
            QuotaKind.CALLS: self.calls_per_minute,
        }[kind]

    @property
    def is_empty(self) -> bool:
        return all(self.of(kind) is None for kind in QuotaKind)


NO_QUOTA = ProjectQuota()


@dataclass(frozen=True, slots=True)
class QuotaHolder:
    """Who has how much of what is used."""

    name: str
    amount: int


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """How much of one kind a project uses, and who most of it. `limit` None: as much as there is."""

    kind: QuotaKind
    limit: int | None
    used: int
    holders: Sequence[QuotaHolder] = ()
