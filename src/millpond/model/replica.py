"""Replicas and routers of endpoints, and what a site serves with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from millpond.model.endpoint_spec import EndpointPorts


@dataclass(frozen=True, slots=True)
class FailedStarts:
    """How often a replica or router has failed since it last served. Counted by the retries of its job."""

    # Retries when it last served, and by its newest failure.
    before: int = 0
    newest: int = 0
    # What the process wrote last before its newest failure.
    cause: str | None = None

    @property
    def count(self) -> int:
        return self.newest - self.before


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
    # How its newest attempt failed, for people.
    problem: str | None = None
    failures: FailedStarts = FailedStarts()

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
    failures: FailedStarts = FailedStarts()


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
