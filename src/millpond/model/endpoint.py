"""Endpoints: models served by replicas at sites, as they were asked for and as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from millpond.model.endpoint_spec import EndpointSpec
from millpond.model.replica import ReplicaView, SiteServing


def drift_experiment(endpoint: str) -> str:
    """The experiment whose runs compare an endpoint's requests with a reference."""
    return f"drift-{endpoint}"


def replay_experiment(endpoint: str) -> str:
    """The experiment whose runs compare answers of a candidate with those that an endpoint gave."""
    return f"replay-{endpoint}"


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
    # What failed again and again, so that waiting for it is of no use. It is still tried, ever more slowly.
    failure: str | None = None
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


@dataclass(frozen=True, slots=True)
class EndpointView:
    """An endpoint with its replicas, the addresses at its sites, and what these serve."""

    endpoint: Endpoint
    replicas: Sequence[ReplicaView] = ()
    addresses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    serving: Mapping[str, SiteServing] = field(default_factory=dict)
    # What the newest analysis of its drift found to be too much.
    drift_alerts: tuple[str, ...] = ()


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
    # Inside replicas: rows of a batch and the wait of a request for its batch, on average; None without batches.
    batch_size: float | None = None
    queue_ms: float | None = None
