"""Sites, volumes, cached commits, evictions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.fill_source import SourceKind
from millpond.model.quantity import DAY, LONGEST_HOLD, LONGEST_IDLE
from millpond.model.tier import STANDARD
from millpond.model.volume import Cause, LeaseKind
from millpond.wire.base import Change, Request, Response, Time
from millpond.wire.rate_limits import RateLimit
from millpond.wire.trust import Trust


class Site(Response):
    id: str
    name: str
    created_at: Time
    computes: int
    volumes: int
    # Where agents of other sites fetch cached commits, as `host:port`; null: nowhere.
    address: str | None = None
    # How fast all that comes there and goes from there may be; null: without limit.
    limit: RateLimit | None = None
    # Where routers of endpoints listen there; null: on their own machine only.
    serving_host: str | None = None
    serving_tls_cert: str | None = None
    # How long jobs go on there while their agent cannot reach the server; null: as for all sites.
    placement_seconds: int | None = None
    # Where agents and jobs of the site reach the lake; null: where everybody does.
    lake_endpoint: str | None = None
    # Said once, when it was changed: what was found wrong and does not stand in the way.
    warning: str | None = None


class SiteCreate(Request):
    name: str


class SiteChange(Change):
    """What is left out stays. `address`: where agents of other sites fetch cached commits, as `host:port`; null:
    nowhere. `lake_endpoint`: where agents and jobs of the site reach the lake, as a URL; null: where everybody does.
    `serving_host`: where routers of endpoints listen; null: on their own machine only. `serving_tls_cert` and
    `serving_tls_key`: files on that machine, in PEM.
    """

    address: str | None = Field(default=None, max_length=300)
    lake_endpoint: str | None = Field(default=None, max_length=300)
    serving_host: str | None = Field(default=None, max_length=200)
    serving_tls_cert: str | None = Field(default=None, max_length=1000)
    serving_tls_key: str | None = Field(default=None, max_length=1000)


class SitePlacements(Request):
    """`seconds`: how long jobs go on while their agent cannot reach the server; null: as for all sites."""

    seconds: int | None = None


class VolumeLimit(Response):
    """What one project may take of a volume, and what it takes."""

    project: str
    bytes: int
    used_bytes: int


class VolumeLimitPut(Request):
    bytes: int = Field(gt=0)


class TierEnforced(Response):
    """What keeps a volume to its tier (`blkio`, `io.max`, `plugin`, `none`), and the limit in force."""

    by: str
    bytes_per_second: int | None = None
    problem: str | None = None


class Tier(Response):
    """A class of service. Throughput and price are relative to the standard one."""

    name: str
    throughput: float
    price: float
    # As it was set; null: so many times that of the standard tier. `rate` is what comes of it; null: no limit.
    bytes_per_second: int | None = None
    rate: int | None = None
    volumes: list[str] = []


class TierPut(Change):
    """What is left out stays. `bytes_per_second`: null for so many times that of the standard tier."""

    throughput: float = Field(default=1.0, gt=0, le=1_000_000)
    price: float = Field(default=1.0, ge=0, le=1_000_000)
    bytes_per_second: int | None = Field(default=None, ge=1000)


class Volume(Response):
    id: str
    name: str
    site: str
    path: str
    capacity_bytes: int
    reserve_bytes: int
    used_bytes: int  # by cached commits, fills under way included; what they share by link counts once
    filling_bytes: int = 0  # of these: promised to fills that are not whole yet
    evicting_bytes: int = 0  # of these: on their way out
    free_bytes: int  # capacity − reserve − used, never negative; less where other files fill the disk
    # What the agent measured; null until it has looked. Foreign bytes are other people's files: never touched.
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    foreign_bytes: int | None = None
    # Files of evicted commits that somebody has open on NFS: gone when they are closed, and not free until then.
    leftover_bytes: int = 0
    # Null where the file system has no limit of inodes.
    inodes_total: int | None = None
    inodes_free: int | None = None
    used_inodes: int = 0
    idle_seconds: int
    high_percent: int
    low_percent: int
    cached_commits: int
    connected: bool
    problem: str | None
    created_at: Time
    seen_at: Time | None
    # A class of service, with its throughput and price relative to the standard one.
    tier: str = "standard"
    tier_throughput: float = 1.0
    tier_price: float = 1.0
    # Bytes per second that the tier has; null: no limit. What sets it, where agents do not, and what keeps to it.
    tier_rate: int | None = None
    tier_by: str | None = None
    tier_enforced: TierEnforced | None = None
    # What fills brought from the lake, in the mean; null before one was large enough to tell.
    lake_bytes_per_second: float | None = None
    # The agent that fills and evicts there, by name; what the file system can do, by its probe.
    filler: str | None = None
    features: dict[str, object] | None = None
    # Of projects one has a role in.
    limits: list[VolumeLimit] = []
    # Follows from the computes of its site: what lies there can be read by the jobs of those that share an account.
    trust: Trust = Trust()


class VolumeCreate(Request):
    """Without a capacity, the agent's measure of the disk is taken: what is free there, less the reserve."""

    name: str
    path: str
    site: str = "local"
    capacity_bytes: int | None = Field(default=None, gt=0)
    reserve_bytes: int | None = Field(default=None, ge=0)
    idle_seconds: int = Field(default=DAY, ge=1, le=LONGEST_IDLE)
    high_percent: int = Field(default=90, ge=1, le=100)
    low_percent: int = Field(default=75, ge=0, le=100)
    tier: str = Field(default=STANDARD, min_length=1, max_length=63)
    # Null: as the tier has them.
    tier_throughput: float | None = Field(default=None, gt=0, le=1_000_000)
    tier_price: float | None = Field(default=None, ge=0, le=1_000_000)
    tier_by: str | None = Field(default=None, min_length=1, max_length=300)


class VolumeChange(Request):
    """What is left out stays. `tier_by`: the plug-in that sets the tier, as NAME:ARGUMENT; "" for agents."""

    capacity_bytes: int | None = Field(default=None, gt=0)
    reserve_bytes: int | None = Field(default=None, ge=0)
    idle_seconds: int | None = Field(default=None, ge=1, le=LONGEST_IDLE)
    high_percent: int | None = Field(default=None, ge=1, le=100)
    low_percent: int | None = Field(default=None, ge=0, le=100)
    tier: str | None = Field(default=None, min_length=1, max_length=63)
    tier_throughput: float | None = Field(default=None, gt=0, le=1_000_000)
    tier_price: float | None = Field(default=None, ge=0, le=1_000_000)
    tier_by: str | None = Field(default=None, max_length=300)


class LeaseHolder(Response):
    job: str | None = None  # project/name
    user: str | None = None
    kind: LeaseKind = LeaseKind.JOB
    reason: str = ""
    since: Time
    until: Time | None = None


class CacheVerification(Response):
    """Every file on the volume held against its digest; what is wrong is fetched anew, in every commit that has it."""

    number: int
    state: Literal["asked", "running", "done", "failed"]
    asked_by: str
    asked_at: Time
    ended_at: Time | None = None
    checked_files: int = 0
    checked_bytes: int = 0
    damaged_files: int = 0
    missing_files: int = 0
    extra_files: int = 0
    healed_files: int = 0
    fetched_bytes: int = 0
    # A few of the paths that were wrong.
    examples: list[str] = []
    problem: str | None = None


class SourceGave(Response):
    """What one source gave to a fill, as it came from there, once it was held against its digest."""

    kind: SourceKind
    name: str
    bytes: int


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
    # After how long unused it goes, and whose word that is.
    idle_seconds: int = DAY
    idle_by: Literal["commit", "dataset", "volume"] = "volume"
    pinned: bool
    pinned_by: str | None = None
    pinned_at: Time | None = None
    leased_by: list[LeaseHolder]
    reason: str
    problem: str | None
    # Code, outputs and environments are cached by the same mechanism.
    kind: DatasetKind = DatasetKind.DATA
    # What the file system allocates for it: all of it, what evicting it alone gives back, and whether it is measured.
    allocated_bytes: int = 0
    freed_bytes: int = 0
    measured: bool = False
    # What comes from the lake: null means the whole commit; less where unchanged files are linked from `base`.
    fetch_bytes: int | None = None
    fetch_files: int | None = None
    base: str | None = None  # a commit id
    # It was asked for and waits until there is room, or an agent that fills.
    waiting: bool = False
    # Of a fill under way: its throughput, and the time left by that or by what earlier fills brought; null if unknown.
    bytes_per_second: float | None = None
    seconds_left: float | None = None
    # Which source gave which bytes to its fill, the largest first.
    sources: list[SourceGave] = []
    # Branches that keep it here by a policy.
    kept_by: list[str] = []
    # Nothing new may use it (its dataset was deleted): it goes when the last lease ends.
    leaving: bool = False
    verification: CacheVerification | None = None


class CacheAdd(Request):
    """`dataset` in written form: dataset, project/dataset@ref. A volume, or a compute it shall be near; else the best.

    `idle_seconds` is the idle time of this cached commit alone.
    """

    dataset: str
    project: str | None = None
    volume: str | None = None
    near: str | None = None
    idle_seconds: int | None = Field(default=None, ge=1, le=LONGEST_IDLE)


class CacheChange(Request):
    """`idle_seconds` of this cached commit alone; `"default"` gives it back to its dataset or volume."""

    idle_seconds: Annotated[int, Field(ge=1, le=LONGEST_IDLE)] | Literal["default"]


class CacheHold(Request):
    """Keep it for a time. `read` is what reading takes, for 15 minutes, renewed by asking again: viewers may do that.

    `reader` tells readers of one user apart: each ends with its own release.
    """

    kind: Literal["hold", "read"] = "hold"
    reader: str | None = Field(default=None, min_length=1, max_length=32)
    seconds: int | None = Field(default=None, ge=1, le=LONGEST_HOLD)
    reason: str = Field(default="", max_length=200)


class CacheAdded(Response):
    cached: CachedCommit
    # False when it was there or on its way already: once and only once.
    started: bool
    reasons: list[str]


class Eviction(Response):
    id: str = ""
    volume: str
    dataset: str
    commit_id: str
    bytes: int
    reason: str
    cause: Cause | None = None
    by: str | None = None
    at: Time
