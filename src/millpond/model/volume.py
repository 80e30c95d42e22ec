"""Sites, volumes and the commits cached on them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Site:
    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Volume:
    """A directory at a site that holds cached commits. `problem` is what its agent last said is wrong with it."""

    id: str
    name: str
    site_id: str
    site: str
    path: str
    capacity_bytes: int
    reserve_bytes: int
    idle_seconds: int
    high_percent: int
    low_percent: int
    created_at: datetime
    # What the agent measured: None until it has looked.
    disk_free_bytes: int | None = None
    problem: str | None = None
    seen_at: datetime | None = None

    @property
    def usable_bytes(self) -> int:
        return max(0, self.capacity_bytes - self.reserve_bytes)


class CachedState(Enum):
    """Absent cached commits have no row at all."""

    FILLING = "filling"
    READY = "ready"
    EVICTING = "evicting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CachedCommit:
    id: str
    volume_id: str
    project_id: str
    dataset_id: str
    commit_id: str
    state: CachedState
    # Fences fills and evictions: an agent may only act on the number it was given last.
    attempt: int
    # What the file system will allocate, reserved before the first byte.
    reserved_bytes: int
    bytes: int
    files: int
    done_bytes: int
    done_files: int
    requested_by: str
    requested_at: datetime
    ready_at: datetime | None
    used_at: datetime
    idle_seconds: int | None
    pinned: bool
    reason: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A promise not to evict. Held by a job until it is known to have ended, or by a person until a time."""

    id: str
    cached_id: str
    job_id: str | None
    user_id: str | None
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Eviction:
    """The record of one eviction and its reason."""

    id: str
    volume_id: str
    dataset_id: str
    commit_id: str
    bytes: int
    reason: str
    at: datetime
