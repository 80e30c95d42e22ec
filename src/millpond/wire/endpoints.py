"""Endpoints: models served by replicas at sites."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.model.endpoint import EndpointState
from millpond.model.endpoint_spec import ALL_TRAFFIC, MAX_REPLICAS
from millpond.model.quantity import DAY
from millpond.model.replica import ReplicaState, SwapState
from millpond.wire.base import Request, Response, Time


class EndpointScaling(Request):
    """Limits of replicas, at one entry of `sites` or at all."""

    site: Annotated[str, Field(max_length=200)] | None = None
    min: Annotated[int, Field(ge=0, le=MAX_REPLICAS)] | None = None
    max: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] | None = None


class EndpointCanary(Request):
    """`model` is NAME@VERSION, `weight` its share of requests in hundredths."""

    model: Annotated[str, Field(min_length=1, max_length=400)]
    weight: Annotated[int, Field(ge=1, lt=ALL_TRAFFIC)] = 5
    # Also a version that has not passed its check.
    unchecked: bool = False


class EndpointRollback(Request):
    """To the revision before, unless one is named."""

    to: Annotated[int, Field(ge=1)] | None = None


class EndpointTokenCreate(Request):
    """`quota` are requests per minute; 0: as the endpoint says."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    expires_seconds: Annotated[int, Field(ge=60, le=366 * DAY)] = 30 * DAY
    quota: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class EndpointToken(Response):
    """`secret` is told once, when it is created."""

    id: str
    name: str
    quota: int
    created_by: str
    created_at: Time
    expires_at: Time
    revoked_at: Time | None
    secret: str | None = None


class EndpointTokens(Response):
    """Newest first."""

    items: list[EndpointToken]


class EndpointWhy(Response):
    state: EndpointState
    reasons: list[str]


class EndpointVersion(Response):
    """A version, its share of requests now and as the revision asks for."""

    model: str
    version: int
    weight: int
    asked: int


class EndpointPoint(Response):
    """Requests of one version within a step of time that begins `at`; what is `held` waits for any version."""

    at: Time
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
    # Inside replicas: rows of a batch, and the wait of a request for its batch, on average.
    batch_size: float | None
    queue_ms: float | None


class EndpointMetrics(Response):
    """Points by time and version; steps in which no router told anything have none."""

    step_seconds: int
    points: list[EndpointPoint]


class EndpointReplica(Response):
    """`started`: seconds of each part of its newest start."""

    id: str
    site: str
    model: str
    version: int
    state: ReplicaState
    job: str
    job_name: str
    job_state: str
    compute: str | None
    node: str | None
    reason: str
    created_at: Time
    ready_at: Time | None
    started: dict[str, float]


class EdgePush(Request):
    """A version (NAME@VERSION) for sites and patterns of sites. Without `endpoint`: the one that serves the model, or
    a new one with the model's name."""

    model: Annotated[str, Field(min_length=1, max_length=400)]
    sites: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=100)]
    endpoint: Annotated[str, Field(max_length=63)] | None = None
    unchecked: bool = False


class EdgeRollback(Request):
    """The version before, at these sites and patterns; without any, at those that the newest push went to."""

    sites: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)] = []


class EndpointSiteState(Response):
    """Replicas at a site: how many are ready, how many are wanted now and why, and the addresses there; which versions
    (NAME@VERSION) it should serve and serves now as last heard of, since when, and how far the swap is and why."""

    site: str
    ready: int
    wanted: int
    reason: str
    min: int
    max: int
    http: str
    grpc: str
    metrics: str
    desired: list[str]
    serving: list[str]
    since: Time | None
    swap: SwapState
    swap_reason: str
    is_online: bool
    heard_at: Time | None
    is_pushed: bool


class RolloutState(Response):
    canary: str
    since: Time
    reason: str


class Endpoint(Response):
    """`spec` is what `endpoint.yaml` of its newest revision says; `url` is tritonclient's, through the server.
    `failure` says what failed again and again, so that waiting for it is of no use."""

    id: str
    project: str
    name: str
    state: EndpointState
    reasons: list[str]
    failure: str | None
    revision: int
    versions: list[EndpointVersion]
    sites: list[EndpointSiteState]
    replicas: list[EndpointReplica]
    rollout: RolloutState | None
    # What the newest window of its drift has too much of.
    drift_alerts: list[str]
    public: bool
    url: str
    spec: dict[str, Any]
    created_by: str
    created_at: Time
    changed_at: Time


class EndpointRevision(Response):
    number: int
    action: str
    restores: int | None
    reason: str
    created_by: str
    created_at: Time
    spec: dict[str, Any]


class EndpointRevisions(Response):
    """Newest first."""

    items: list[EndpointRevision]
