"""Clusters of Dask and Ray."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millpond.model.cluster import MAX_WORKERS, ClusterKind, ClusterProcessState, ClusterRole, ClusterState
from millpond.wire.base import Request, Response, Time

_Workers = Annotated[int, Field(ge=0, le=MAX_WORKERS)]


class ClusterLimits(Request):
    """Workers by demand, never fewer or more than these."""

    min: _Workers
    max: _Workers


class ClusterCreate(Request):
    """CPUs, memory, GPUs (in hundredths) and image are those of each worker. `environment` is a commit of requirements,
    as of a job. Without `site`: that of `compute`, or the only one. `scheduler_memory_bytes` 0: as much as a worker,
    from 1 to 4 GB."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    kind: ClusterKind
    workers: _Workers = 1
    adapt: ClusterLimits | None = None
    cpu: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    memory_bytes: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    scheduler_memory_bytes: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    gpu_hundredths: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    environment: Annotated[str, Field(max_length=64)] | None = None
    image: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    compute: Annotated[str, Field(max_length=63)] | None = None
    on: Annotated[str, Field(min_length=1, max_length=639)] | None = None
    site: Annotated[str, Field(max_length=63)] | None = None
    # Datasets that workers read, as DATASET[@REF].
    data: Annotated[list[Annotated[str, Field(min_length=1, max_length=400)]], Field(max_length=100)] = []


class ClusterScaling(Request):
    """Either a fixed number of workers, or limits."""

    workers: _Workers | None = None
    adapt: ClusterLimits | None = None


class ClusterWorkerLimits(Response):
    min: int
    max: int


class ClusterJob(Response):
    """The job of the scheduler or of a worker. `tasks` and `bytes` are what the scheduler says of a worker."""

    role: ClusterRole
    state: ClusterProcessState
    job: str
    job_name: str
    job_state: str
    compute: str | None
    node: str | None
    reason: str
    created_at: Time
    ready_at: Time | None
    tasks: int | None
    bytes: int | None


class ClusterEvent(Response):
    at: Time
    what: str


class Cluster(Response):
    """`desired` is what the scheduler asks for, `wanted` how many workers it is to have now, and why. `dashboard` is a
    port of the scheduler's job. `history` is newest first, and empty in lists."""

    id: str
    project: str
    name: str
    kind: ClusterKind
    state: ClusterState
    reasons: list[str]
    site: str
    version: str | None
    address: str | None
    dashboard: int | None
    workers_ready: int
    wanted: int
    wanted_reason: str
    adapt: ClusterWorkerLimits | None
    desired: int | None
    tasks: int | None
    waiting: int | None
    cpu: int
    memory_bytes: int
    # What its job reserves.
    scheduler_memory_bytes: int = 0
    gpu_hundredths: int
    image: str | None
    compute: str | None
    environment: str | None
    # Commits that workers read, as PROJECT/DATASET@COMMIT.
    data: list[str]
    scheduler: ClusterJob | None
    workers: list[ClusterJob]
    created_by: str
    created_at: Time
    changed_at: Time
    history: list[ClusterEvent]
