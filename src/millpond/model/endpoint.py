"""Endpoints: models served by replicas at sites, as written in `endpoint.yaml`; `decide/endpoints` reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any

ENDPOINT_SCHEMA = "millpond.endpoint/1"
MAX_REPLICAS = 1000
MAX_VERSIONS = 20
# Shares of traffic are whole hundredths.
ALL_TRAFFIC = 100
DEFAULT_PORTS = (8000, 8001, 8002)
DEFAULT_LOG_BYTES = 1 << 30


def drift_experiment(endpoint: str) -> str:
    """The experiment whose runs compare an endpoint's requests with a reference."""
    return f"drift-{endpoint}"


class Offline(StrEnum):
    """What replicas do while their site does not hear from the server."""

    SERVE = "serve"
    STOP = "stop"


class LogLevel(StrEnum):
    NONE = "none"
    META = "meta"
    FULL = "full"


class Packages(StrEnum):
    """Where the packages of the model server come from."""

    AUTO = "auto"  # built for the backend of the model, once per site
    NONE = "none"  # those of the machine's own Python


@dataclass(frozen=True, slots=True)
class WeightedVersion:
    """`model` is written NAME@VERSION; in a stored spec the version is a number."""

    model: str
    weight: int = ALL_TRAFFIC

    @property
    def name(self) -> str:
        return self.model.rpartition("@")[0]

    @property
    def number(self) -> int:
        """Of a stored spec."""
        return int(self.model.rpartition("@")[2])


@dataclass(frozen=True, slots=True)
class ShadowVersion:
    """Receives copies of `percent` of all requests; its answers are thrown away."""

    model: str
    percent: int = ALL_TRAFFIC

    @property
    def name(self) -> str:
        return self.model.rpartition("@")[0]

    @property
    def number(self) -> int:
        return int(self.model.rpartition("@")[2])


@dataclass(frozen=True, slots=True)
class EndpointSite:
    """Replicas at one site, or at each site whose name matches (`shop-*`)."""

    site: str
    min: int = 1
    max: int = 1
    template: str | None = None
    offline: Offline = Offline.SERVE
    # The version that gets all requests there, NAME@VERSION; None: the endpoint's `versions`.
    model: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointScale:
    target_concurrency: int = 8
    # 0: never.
    idle_to_zero_seconds: int = 600
    # 0: latency has no say.
    target_p95_ms: int = 0


@dataclass(frozen=True, slots=True)
class EndpointRollout:
    """How a canary's share grows by itself, and what stops it. Limits that are None have no say."""

    step: int = 10
    every_seconds: int = 300
    errors_max: float | None = None
    p99_ratio_max: float | None = None
    drift_max: float | None = None
    # False: what fails a condition stays at its share, for a person to decide.
    rolls_back: bool = True


@dataclass(frozen=True, slots=True)
class EndpointAccess:
    public: bool = False
    # Requests per minute of each token; 0: no limit.
    token_quota_per_min: int = 0


@dataclass(frozen=True, slots=True)
class LogSending:
    """When files of a request log leave their site, and how fast: daily between two minutes of the day of `zone`."""

    between: tuple[int, int] | None = None
    zone: str = "UTC"
    bits_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointLog:
    level: LogLevel = LogLevel.NONE
    sample: float = 1.0
    redact: tuple[str, ...] = ()
    # The dataset and branch that the log is committed to.
    to: str | None = None
    every_seconds: int = 600
    # Of files that wait at the site: the longest time (None: no limit), and the most bytes.
    keep_seconds: int | None = None
    max_bytes: int = DEFAULT_LOG_BYTES
    send: LogSending = LogSending()


@dataclass(frozen=True, slots=True)
class EndpointPorts:
    http: int = DEFAULT_PORTS[0]
    grpc: int = DEFAULT_PORTS[1]
    metrics: int = DEFAULT_PORTS[2]


@dataclass(frozen=True, kw_only=True)
class EndpointSpec:
    """What somebody asks for. A stored one names numbers of versions and at least one site."""

    name: str
    versions: tuple[WeightedVersion, ...]
    shadow: ShadowVersion | None = None
    sites: tuple[EndpointSite, ...] = ()
    scale: EndpointScale = EndpointScale()
    rollout: EndpointRollout | None = None
    access: EndpointAccess = EndpointAccess()
    log: EndpointLog = EndpointLog()
    ports: EndpointPorts = EndpointPorts()
    environment: Packages = Packages.AUTO


class EndpointState(Enum):
    STARTING = "starting"  # no replica is ready yet
    READY = "ready"
    UPDATING = "updating"  # serves, while replicas are replaced, added or removed
    DEGRADED = "degraded"  # serves with fewer replicas than it should have
    FAILING = "failing"  # no replica is ready, and some could not start
    IDLE = "idle"  # scaled to zero: the next request starts a replica
    DELETING = "deleting"


@dataclass(frozen=True, slots=True)
class Rollout:
    """A canary under way: since when it has its share, and what both versions had answered by then."""

    canary: str
    since: datetime
    counted: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    id: str
    project_id: str
    project: str
    name: str
    created_by: str
    # Whom its jobs run for: whoever made the newest revision.
    user_id: str
    created_at: datetime
    changed_at: datetime
    spec: EndpointSpec
    # Number of the newest revision.
    number: int = 1
    # Shares now, in the order of the spec's versions: a rollout moves them.
    weights: tuple[int, ...] = ()
    rollout: Rollout | None = None
    # Replicas wanted now by the names of sites, and why.
    wanted: Mapping[str, int] = field(default_factory=dict)
    scale_reasons: Mapping[str, str] = field(default_factory=dict)
    state: EndpointState = EndpointState.STARTING
    # What it is doing and why, newest last.
    reasons: tuple[str, ...] = ()
    # Since when it is to go.
    deleted_at: datetime | None = None
    # Of the row: grows with every change.
    revision: int = 1


@dataclass(frozen=True, slots=True)
class EndpointRevision:
    """What was asked at some time. `restores` is the number of the revision that a rollback brought back."""

    endpoint_id: str
    number: int
    spec: EndpointSpec
    created_by: str
    created_at: datetime
    # create, update, scale, canary, promote, push or rollback.
    action: str = "update"
    restores: int | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class EndpointToken:
    """What lets a program use one endpoint. The secret itself is kept nowhere."""

    id: str
    project_id: str
    endpoint_id: str
    name: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    # Requests per minute; 0: as the endpoint says.
    quota: int = 0
    revoked_at: datetime | None = None


class ReplicaState(Enum):
    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"  # gets no new requests, and is stopped then
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True)
class Replica:
    """One copy of a version at a site: a job of kind service. `shape` is a digest of all that would need a new one."""

    id: str
    endpoint_id: str
    site_id: str
    site: str
    model: str
    version: int
    shape: str
    job_id: str
    created_at: datetime
    state: ReplicaState = ReplicaState.STARTING
    ready_at: datetime | None = None
    draining_at: datetime | None = None
    # What its newest placement told when it was ready: addresses, seconds of loading and warming up.
    placement_id: str | None = None
    ready: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    @property
    def written(self) -> str:
        return f"{self.model}@{self.version}"


@dataclass(frozen=True, kw_only=True)
class Router:
    """The job that takes a project's requests at a site, on one set of ports, and what it was last told."""

    id: str
    project_id: str
    site_id: str
    site: str
    ports: EndpointPorts
    job_id: str | None = None
    placement_id: str | None = None
    # Without tokens of replicas: those are added when it is told.
    config: Mapping[str, Any] = field(default_factory=dict)
    config_number: int = 0
    # Why it could not be started.
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica with its job, and how long each part of its start took, in seconds."""

    replica: Replica
    job_name: str = ""
    job_state: str = ""
    compute: str | None = None
    node: str | None = None
    reason: str = ""
    started: Mapping[str, float] = field(default_factory=dict)


class SwapState(Enum):
    """How far a site is with the versions that it should serve. Until they answer, what served before goes on."""

    CURRENT = "current"  # it serves what it should
    WAITING = "waiting"  # nothing has begun: the site is silent, or a machine has no room yet
    FETCHING = "fetching"  # files or packages are on their way
    LOADING = "loading"  # loaded and warmed up; then it gets the requests
    FAILED = "failed"  # it did not start, and is tried again
    IDLE = "idle"  # scaled to zero


@dataclass(frozen=True, slots=True)
class SiteServing:
    """What a site should serve and what it serves now, as last heard of. Versions are written NAME@VERSION."""

    desired: tuple[str, ...]
    serving: tuple[str, ...]
    state: SwapState
    reason: str = ""
    # Since when every version that serves now has done so.
    since: datetime | None = None
    # Whether a machine of the site was heard of lately, and when last.
    is_online: bool = False
    heard_at: datetime | None = None
    # Whether a version was pushed to the site, instead of the endpoint's own.
    is_pushed: bool = False


@dataclass(frozen=True, slots=True)
class EndpointView:
    """An endpoint with its replicas, the addresses at its sites, and what these serve."""

    endpoint: Endpoint
    replicas: Sequence[ReplicaView] = ()
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    serving: Mapping[str, SiteServing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EndpointPoint:
    """Requests of one version (`model@number`) at all routers within a step of time that begins `at`.

    `outstanding`, `held` and `replicas` are those at its end; `held` counts for the whole endpoint.
    """

    at: datetime
    version: str
    requests: int
    requests_per_second: float
    errors: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    outstanding: int
    held: int
    replicas: int
