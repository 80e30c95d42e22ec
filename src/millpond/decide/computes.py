"""Nodes of computes, the volumes near them and waiting jobs, as decisions about them see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millpond.decide.score import Fill
from millpond.model.compute import APART, Trust
from millpond.model.job import GpuFractions
from millpond.model.job_spec import JobSpec

WHOLE = 100  # hundredths of one GPU


@dataclass(frozen=True, slots=True)
class NodeView:
    compute_id: str
    compute: str
    site_id: str
    name: str
    connected: bool
    cpus: int
    memory_bytes: int
    gpus: int = 0
    gpu_model: str = ""
    # Of each GPU; 0: unknown.
    gpu_memory_bytes: int = 0
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    containers: bool = False
    gpu_fractions: GpuFractions = "accounted"
    # Distributed jobs run there, over as many nodes of the compute as they need.
    gangs: bool = False
    # MPI programs run there.
    mpi: bool = False
    # Replicas of endpoints run there; their routers; why not both, and what to do.
    services: bool = False
    routers: bool = False
    serving_problem: str = ""
    driver: str = ""
    # How people reach jobs there while they run: "exec", "ports".
    reached: frozenset[str] = frozenset()
    # What a job may ask of its driver there: KEY=VALUE, or KEY=* where any value will do.
    options: frozenset[str] = frozenset()
    # Who said that nothing new goes there; None if nobody did.
    cordoned_by: str | None = None
    # Why its cluster starts nothing new on this node; None where it does.
    closed: str | None = None
    # The credential of its agent is revoked: it will not be heard of again, however lately it was.
    revoked: bool = False
    trust: Trust = APART
    # Who runs its jobs.
    agent_id: str | None = None
    # The elastic compute it was created for; None for fixed nodes.
    elastic: str | None = None

    def answers_to(self, compute: str | None) -> bool:
        """True if a job that names this compute (None: any) may run here."""
        return compute is None or compute in (self.compute, self.elastic)

    @property
    def is_open(self) -> bool:
        """True if new jobs may start there now."""
        return self.connected and self.cordoned_by is None and self.closed is None and not self.revoked

    @property
    def written(self) -> str:
        return self.compute if self.compute == self.name else f"{self.compute}/{self.name}"


@dataclass(frozen=True, slots=True)
class NearView:
    """Volumes that serve a compute: how many work, and the commits cached or being cached on them.

    `bytes_per_second` is the best measured bandwidth from the lake to one of them.
    """

    volumes: int = 0
    cached: frozenset[str] = frozenset()
    bytes_per_second: float | None = None
    # What is still to be fetched, by commit; nothing for commits that are there.
    fills: Mapping[str, Fill] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Need:
    """A commit that must be cached near the compute before the job can start."""

    commit_id: str
    bytes: int


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A queued job and the data it needs first."""

    id: str
    spec: JobSpec
    needs: tuple[Need, ...] = ()
    project_id: str = ""
    project: str = ""
