"""Clusters: a scheduler and workers of Dask or Ray at one site, each a job of kind service (docs/design/027)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any

from millpond.model.job_spec import JobInput

MAX_WORKERS = 1000


class ClusterKind(StrEnum):
    DASK = "dask"
    RAY = "ray"


class ClusterRole(StrEnum):
    """`client` is a job that uses a cluster; it is no part of it."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class ClusterAdapt:
    """Workers by demand, never fewer or more than these."""

    min: int
    max: int


@dataclass(frozen=True, kw_only=True)
class ClusterSpec:
    """What somebody asks for. CPUs, memory, GPUs and image are those of each worker."""

    kind: ClusterKind
    workers: int = 1
    adapt: ClusterAdapt | None = None
    cpu: int = 1
    memory_bytes: int = 0
    # 0: as much as a worker, within limits (`decide/clusters/scheduler.py`).
    scheduler_memory_bytes: int = 0
    gpu_hundredths: int = 0
    # A commit of the project's code that the packages are built from; None: those of the machine or the image.
    environment: str | None = None
    image: str | None = None
    compute: str | None = None
    # A template or queue that fills in what is left open.
    on: str | None = None
    # Commits that workers read, cached near them. As asked: dataset and ref; as stored: all of it.
    inputs: tuple[JobInput, ...] = ()


class ClusterState(Enum):
    STARTING = "starting"  # the scheduler takes nobody yet
    READY = "ready"  # as many workers as wanted
    SCALING = "scaling"  # the scheduler answers, while workers come or go
    DEGRADED = "degraded"  # the scheduler answers, and some workers could not start
    FAILING = "failing"  # the scheduler could not start
    DELETING = "deleting"

    @property
    def takes_jobs(self) -> bool:
        """True if programs can use it now."""
        return self in (ClusterState.READY, ClusterState.SCALING, ClusterState.DEGRADED)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    id: str
    project_id: str
    project: str
    name: str
    created_by: str
    # Whom its jobs run for.
    user_id: str
    created_at: datetime
    changed_at: datetime
    site_id: str
    site: str
    spec: ClusterSpec
    # Workers wanted now, why, and since when the scheduler has asked for fewer.
    wanted: int = 0
    wanted_reason: str = ""
    fewer_since: datetime | None = None
    state: ClusterState = ClusterState.STARTING
    reasons: tuple[str, ...] = ()
    deleted_at: datetime | None = None
    # Of the row: grows with every change.
    revision: int = 1


class ClusterProcessState(Enum):
    STARTING = "starting"
    READY = "ready"
    RETIRING = "retiring"  # hands over what it holds, and ends
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True)
class ClusterProcess:
    """The scheduler or a worker: a job of kind service, tried again for as long as it is wanted."""

    id: str
    cluster_id: str
    role: ClusterRole
    job_id: str
    job_name: str
    created_at: datetime
    state: ClusterProcessState = ClusterProcessState.STARTING
    ready_at: datetime | None = None
    retiring_at: datetime | None = None
    # What its newest placement told when it was ready: addresses, the dashboard's port, a version.
    placement_id: str | None = None
    ready: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happened to a cluster, for people."""

    at: datetime
    what: str


@dataclass(frozen=True, slots=True)
class WorkerLoad:
    """What the scheduler says of a worker: tasks that it runs or has waiting, bytes of results that it holds."""

    tasks: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ClusterDemand:
    """What the scheduler said last: workers that it would like, its tasks, those of them that wait; workers by name."""

    desired: int
    tasks: int = 0
    waiting: int = 0
    workers: Mapping[str, WorkerLoad] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterProcessView:
    process: ClusterProcess
    job_state: str = ""
    compute: str | None = None
    node: str | None = None
    reason: str = ""
    load: WorkerLoad | None = None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster with its processes and what its scheduler says; `events` newest first, where they were asked for."""

    cluster: Cluster
    processes: Sequence[ClusterProcessView] = ()
    demand: ClusterDemand | None = None
    events: Sequence[ClusterEvent] = ()

    @property
    def scheduler(self) -> ClusterProcessView | None:
        return next((one for one in self.processes if one.process.role is ClusterRole.SCHEDULER), None)

    @property
    def workers(self) -> Sequence[ClusterProcessView]:
        return [one for one in self.processes if one.process.role is ClusterRole.WORKER]
