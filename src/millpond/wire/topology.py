"""Places and the ways between them, what is near what, and the use of caches over time."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response, Time
from millpond.wire.cache import Site, Volume
from millpond.wire.rate_limits import RateLimit


class Link(Response):
    """The way between two places, the same in both directions. An end is the name of a site, or `lake`."""

    a: str
    b: str
    # What people said; null for what nobody said.
    bits_per_second: int | None
    latency_ms: float | None
    price_per_gb: float | None
    set_at: Time | None
    # What fills over it brought, of all volumes at its ends the best; null before one was large enough to tell.
    measured_bytes_per_second: float | None
    measured_at: Time | None
    # Whether volumes at one end serve computes at the other, and the reason in words. The lake is near nothing.
    near: bool
    reason: str
    # How fast fills may be over it, in both directions together; null: without limit.
    limit: RateLimit | None = None


class LinkPut(Request):
    """The whole of what is said of a link but its limit: what is left out is not known any more."""

    bits_per_second: int | None = Field(default=None, gt=0, le=10**15)
    latency_ms: float | None = Field(default=None, ge=0, le=3_600_000)
    price_per_gb: float | None = Field(default=None, ge=0, le=1_000_000)


class SiteStore(Response):
    """Where a site reads the lake. `problem`: why it cannot now; `seen_at`: when an agent there last tried."""

    id: str
    name: str
    problem: str | None = None
    seen_at: Time | None = None


class SiteDetail(Response):
    site: Site
    links: list[Link]
    volumes: list[str]
    computes: list[str]
    # Where it reads the lake, if that was set.
    stores: list[SiteStore] = []


class VolumeBandwidth(Response):
    """What fills of a volume brought: from `lake`, or from volumes at the site named."""

    source: str
    bytes_per_second: float
    fills: int
    measured_at: Time


class TopologyVolume(Response):
    volume: Volume
    bandwidth: list[VolumeBandwidth]
    # Under way now, and their throughput together.
    fills: int
    fill_bytes_per_second: float | None


class NearVolume(Response):
    """What a volume is to a compute. Jobs there use it if it is near and its agent sees it well: `serves`."""

    volume: str
    near: bool
    seen: bool
    serves: bool
    reason: str


class TopologyCompute(Response):
    name: str
    site: str
    driver: str
    connected: bool
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_used_hundredths: int
    jobs: int
    volumes: list[NearVolume]


class Topology(Response):
    """Everything the drawing shows. `near_…`: what makes a link near, as this server is set."""

    near_bits_per_second: int
    near_latency_ms: float
    sites: list[Site]
    links: list[Link]
    volumes: list[TopologyVolume]
    computes: list[TopologyCompute]


class CacheUses(Response):
    """A hit: the commit was there or on its way when it was asked for, so its bytes were not fetched again."""

    hits: int
    misses: int
    hit_rate: float | None  # null while nothing was asked for
    saved_bytes: int
    saved_seconds: float  # by the bandwidth from the lake that was measured then
    fills: int
    filled_bytes: int
    fill_seconds: float


class HourOfUse(CacheUses):
    at: Time  # when the hour began


class VolumeSample(Response):
    at: Time
    capacity_bytes: int
    used_bytes: int  # whole commits, and what is on its way out
    reserved_bytes: int  # promised to fills that are not whole yet
    free_bytes: int
    foreign_bytes: int


class VolumeUsage(Response):
    """How full a volume was, oldest first, every `step_seconds`; and how it was used, hour by hour."""

    volume: str
    step_seconds: int
    samples: list[VolumeSample]
    hours: list[HourOfUse]
    total: CacheUses  # of the time asked for
    bandwidth: list[VolumeBandwidth]


class RunningFill(Response):
    """A fill under way. `seconds_left` is null while neither its own speed nor that of earlier fills is known."""

    id: str  # of the cached commit
    project: str
    dataset: str
    commit_id: str
    volume: str
    source: str  # `lake`, or the name of a site
    bytes: int
    done_bytes: int
    files: int
    done_files: int
    bytes_per_second: float | None
    seconds_left: float | None
    waiting: bool
    problem: str | None


class CachesSummary(Response):
    """The header of the page of caches: volumes are everybody's, what is cached only of projects one may see."""

    volumes: int
    volumes_connected: int
    capacity_bytes: int
    used_bytes: int
    reserved_bytes: int
    free_bytes: int
    foreign_bytes: int
    cached_commits: int
    cached_bytes: int
    total: CacheUses  # since the beginning
    today: CacheUses  # of the last 24 hours
    fills: list[RunningFill]
