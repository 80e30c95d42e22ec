"""What somebody asks of an endpoint, as written in `endpoint.yaml`; `decide/endpoints` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ENDPOINT_SCHEMA = "millpond.endpoint/1"
MAX_REPLICAS = 1000
MAX_VERSIONS = 20
# Shares of traffic are whole hundredths.
ALL_TRAFFIC = 100
DEFAULT_PORTS = (8000, 8001, 8002)
DEFAULT_LOG_BYTES = 1 << 30
# Requests, and rows of the reference, that are compared at most: drawn at random where there are more.
MOST_ROWS = 20_000


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
class EndpointDrift:
    """The section `drift` of an endpoint: what its requests are compared with, how often, and what is too much.

    `reference` is written `dataset@ref[:path]`.
    """

    reference: str
    # The requests of so long are compared, so often.
    window_seconds: int = 3600
    every_seconds: int = 3600
    # Columns of the reference that make up the one input, in its order.
    columns: tuple[str, ...] = ()
    rows: int = MOST_ROWS
    # A column is told of if its PSI is above the one and its p-value below the other.
    psi_max: float = 0.2
    p_min: float = 0.01
    # The template or queue that its jobs run on; None: wherever there is room.
    on: str | None = None


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
    drift: EndpointDrift | None = None
    ports: EndpointPorts = EndpointPorts()
    environment: Packages = Packages.AUTO

    @property
    def served(self) -> set[str]:
        """Every version that it names, written NAME@VERSION: with a share, as a shadow, or pushed to a site."""
        pushed = {one.model for one in self.sites if one.model}
        return {one.model for one in self.versions} | pushed | ({self.shadow.model} if self.shadow else set())
