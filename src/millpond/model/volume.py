"""Sites, volumes and the commits cached on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from millpond.model.cached_state import CachedState
from millpond.model.rate_limit import RateLimit
from millpond.model.tier import TierEnforced


@dataclass(frozen=True, slots=True)
class Serving:
    """Where routers of endpoints listen at a site, and the files on their machine that they serve TLS with."""

    host: str
    tls_cert: str | None = None
    tls_key: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    id: str
    name: str
    created_at: datetime
    # Where agents of other sites reach the one that serves its volumes, as `host:port`.
    address: str | None = None
    # How fast all that comes there and goes from there may be.
    limit: RateLimit | None = None
    # None: on their own machine only.
    serving: Serving | None = None
    # How long jobs go on there while their agent cannot reach the server; None: as the server says for all.
    placement_seconds: int | None = None
    # Where agents and jobs of the site reach the lake; None: where everybody does.
    lake_endpoint: str | None = None


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
    # The one agent that fills and evicts there, and what its probe found the file system able to do.
    filler_id: str | None = None
    features: Mapping[str, Any] | None = None
    # A class of service: throughput and price relative to the standard one.
    tier: str = "standard"
    tier_throughput: float = 1.0
    tier_price: float = 1.0
    disk_total_bytes: int | None = None
    # None where the file system has no limit of inodes, or nobody has looked.
    inodes_total: int | None = None
    inodes_free: int | None = None
    # Of evicted commits, what could not be removed yet: files that somebody has open on NFS.
    leftover_bytes: int = 0
    # The plug-in that gives it its tier, with its argument (`command:ontap`); None: agents do.
    tier_by: str | None = None
    tier_enforced: TierEnforced | None = None

    @property
    def usable_bytes(self) -> int:
        return max(0, self.capacity_bytes - self.reserve_bytes)


class LeaseKind(Enum):
    """Who promises not to evict: a job until it ends, a person until a time, whoever reads until a time, or a workspace
    that is made from it or lies over it."""

    JOB = "job"
    HOLD = "hold"
    READ = "read"
    WORKSPACE = "workspace"


class Cause(Enum):
    """Why a cached commit went."""

    IDLE = "idle"
    WATERMARK = "watermark"
    ROOM = "room"  # for another commit
    LIMIT = "limit"  # of its project on the volume
    CLEARED = "cleared"
    DELETED = "deleted"  # its dataset or commit
    LOST = "lost"  # it was no longer found on the volume
    VOLUME = "volume"  # the volume was removed


@dataclass(frozen=True, slots=True)
class CacheVerification:
    """Every file of a cached commit held against its digest; what is wrong is fetched anew.

    `state` is asked, running, done or failed; `examples` are a few of the paths that were wrong.
    """

    number: int
    state: str
    asked_by: str
    asked_at: datetime
    ended_at: datetime | None = None
    checked_files: int = 0
    checked_bytes: int = 0
    damaged_files: int = 0
    missing_files: int = 0
    extra_files: int = 0
    healed_files: int = 0
    fetched_bytes: int = 0
    examples: tuple[str, ...] = ()
    problem: str | None = None


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
    # The cached commit whose unchanged files it links; it stays while the fill runs.
    base_id: str | None = None
    reserved_inodes: int = 0
    # What must come from the lake; None: all of it.
    fetch_bytes: int | None = None
    fetch_files: int | None = None
    pinned_by: str | None = None
    pinned_at: datetime | None = None
    # The number of the verification asked for last, 0 for none, and what came of it.
    verify: int = 0
    verification: Mapping[str, Any] | None = None
    # While it is on its way out: why, and who wished it.
    cause: Cause | None = None
    cleared_by: str | None = None
    # It was published before the server knew of it: what is there is checked rather than filled.
    found: bool = False
    # Asked for ahead of need, by a policy or for a job that is queued: nobody waits for it unless it is leased.
    prefetch: bool = False

    @property
    def is_verifying(self) -> bool:
        """True if its last verification is still to be carried out. Only what is there and whole is verified."""
        if self.state is not CachedState.READY or self.verification is None:
            return False
        return self.verification["state"] in ("asked", "running")


@dataclass(frozen=True, slots=True)
class Share:
    """Space that these cached commits share by hard link: it is given back when the last of them goes."""

    members: frozenset[str]
    bytes: int
    inodes: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A promise not to evict. Held by a job until it is known to have ended, or by a person until a time."""

    id: str
    cached_id: str
    job_id: str | None
    user_id: str | None
    created_at: datetime
    expires_at: datetime | None
    kind: LeaseKind = LeaseKind.JOB
    reason: str = ""


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
    cause: Cause | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class CachePolicy:
    """Keep the newest commit of a branch cached on a volume."""

    id: str
    volume_id: str
    dataset_id: str
    branch: str
    created_by: str
    created_at: datetime
    # The commit it asked for last; why that is not there, and when it was tried.
    commit_id: str | None = None
    problem: str | None = None
    tried_at: datetime | None = None
