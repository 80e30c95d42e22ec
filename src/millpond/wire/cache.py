"""Sites, volumes, cached commits, evictions."""

from __future__ import annotations

from pydantic import Field

from millpond.model.volume import DAY, CachedState
from millpond.wire.base import Request, Response, Time


class Site(Response):
    id: str
    name: str
    created_at: Time
    agents: int
    volumes: int


class SiteCreate(Request):
    name: str


class Volume(Response):
    id: str
    name: str
    site: str
    path: str
    capacity_bytes: int
    reserve_bytes: int
    used_bytes: int  # by cached commits, fills under way included
    free_bytes: int  # capacity − reserve − used, never negative
    idle_seconds: int
    high_percent: int
    low_percent: int
    cached_commits: int
    connected: bool
    problem: str | None
    created_at: Time
    seen_at: Time | None


class VolumeCreate(Request):
    """Without a capacity, the agent's measure of the disk is taken: what is free there, less the reserve."""

    name: str
    path: str
    site: str = "local"
    capacity_bytes: int | None = Field(default=None, gt=0)
    reserve_bytes: int | None = Field(default=None, ge=0)
    idle_seconds: int = Field(default=DAY, ge=1)
    high_percent: int = Field(default=90, ge=1, le=100)
    low_percent: int = Field(default=75, ge=0, le=100)


class VolumeChange(Request):
    capacity_bytes: int | None = Field(default=None, gt=0)
    reserve_bytes: int | None = Field(default=None, ge=0)
    idle_seconds: int | None = Field(default=None, ge=1)
    high_percent: int | None = Field(default=None, ge=1, le=100)
    low_percent: int | None = Field(default=None, ge=0, le=100)


class LeaseHolder(Response):
    job: str | None = None  # project/name
    user: str | None = None
    since: Time
    until: Time | None = None


class CachedCommit(Response):
    id: str
    volume: str
    site: str
    project: str
    dataset: str
    dataset_id: str
    commit_id: str
    path: str  # where the files lie on the volume's machines
    state: CachedState
    bytes: int
    files: int
    done_bytes: int
    done_files: int
    requested_by: str
    requested_at: Time
    ready_at: Time | None
    used_at: Time
    # When it goes if nobody uses it; None while leased or pinned or not ready.
    expires_at: Time | None
    pinned: bool
    leased_by: list[LeaseHolder]
    reason: str
    problem: str | None


class CacheAdd(Request):
    """`dataset` in written form: dataset, project/dataset@ref. Without a volume, the emptiest one is chosen."""

    dataset: str
    project: str | None = None
    volume: str | None = None


class CacheAdded(Response):
    cached: CachedCommit
    # False when it was there or on its way already: once and only once.
    started: bool
    reasons: list[str]


class Eviction(Response):
    volume: str
    dataset: str
    commit_id: str
    bytes: int
    reason: str
    at: Time
