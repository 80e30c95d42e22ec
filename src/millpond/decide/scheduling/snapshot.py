"""What a plan is made from: nodes, projects, running and pending jobs at one moment. Nothing here changes.

GPU amounts are whole hundredths; times are seconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

WHOLE = 100  # hundredths of one GPU
MAX_JOBS_PER_NODE = 256


@dataclass(frozen=True, slots=True)
class Node:
    """A machine that jobs run on. `id` is unique over all computes."""

    id: str
    compute: str
    gpus: int = 0
    cpu: int = 0
    memory: int = 0
    # Nodes of one zone cost a job the same: the same site, price and volumes.
    zone: str = ""
    # Quotas are counted per pool.
    pool: str = ""
    # Labels and abilities a job may require: `gpu-type=A100`, `containers`.
    offers: frozenset[str] = frozenset()
    # Its GPUs count as capacity; False while its agent is away.
    up: bool = True
    # New jobs may start there; False while it is away, cordoned or drained.
    open: bool = True
    # Made on demand: counts for limits, not for quotas and shares.
    elastic: bool = False


@dataclass(frozen=True, slots=True)
class Project:
    """A team's guarantee and limits, in hundredths of a GPU."""

    name: str
    # By pool; a pool that is missing has quota 0.
    quotas: Mapping[str, int] = field(default_factory=dict)
    # For capacity beyond the quota; None: the quota itself, at least one GPU.
    weight: int | None = None
    over_quota: bool = True
    limit: int | None = None
    # The most jobs at once; None for no limit.
    jobs: int | None = None
    # Jobs run at least this long before they are preempted.
    min_runtime: float = 0.0


class Size(NamedTuple):
    """What each process of a job takes, and how many start together (0: a plain command, which is one)."""

    gpu: int = 0
    cpu: int = 0
    memory: int = 0
    processes: int = 0

    @property
    def seats(self) -> int:
        return self.processes or 1

    @property
    def gpus(self) -> int:
        """Hundredths of the whole job."""
        return self.gpu * self.seats


NOTHING = Size()


@dataclass(frozen=True, slots=True)
class Seat:
    """Where one process runs, and the GPUs it holds there: whole ones, or the one it has a fraction of."""

    node: str
    gpu_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    project: str
    size: Size = NOTHING
    priority: int = 0
    # The first submission, also after the job was requeued.
    submitted: float = 0.0
    preemptible: bool = True
    # Seconds an attempt may run; None: no limit.
    time_limit: float | None = None
    # Jobs of one word go to different nodes, as far as there are any with room; "": it does not matter.
    apart: str = ""

    @property
    def rank(self) -> tuple[int, float, str]:
        """Order among the pending jobs of its project."""
        return (-self.priority, self.submitted, self.id)


@dataclass(frozen=True, slots=True)
class Running:
    """A job that holds room: it runs, is being prepared, or is nominated and waits for its victims to end."""

    job: Job
    seats: tuple[Seat, ...]
    started: float = 0.0
    # When its last checkpoint was saved; None: never, and all since the start would be lost.
    saved: float | None = None
    nominated: bool = False

    def lost(self, now: float) -> float:
        """GPU-seconds that preempting it would throw away."""
        since = self.started if self.saved is None else max(self.saved, self.started)
        return max(0.0, now - since) * self.job.size.gpus / WHOLE

    @property
    def ends(self) -> float | None:
        """The latest end its time limit allows; None without a limit."""
        return None if self.job.time_limit is None else self.started + self.job.time_limit


class Place(NamedTuple):
    """A zone the job may run in, and what that costs: the score of placement, lowest first."""

    zone: str
    cost: int = 0


@dataclass(frozen=True, slots=True)
class Pending:
    job: Job
    # Every one of these must be offered by a node.
    requires: frozenset[str] = frozenset()
    # None: everywhere, at equal cost.
    places: tuple[Place, ...] | None = None
    # The rule that keeps it from starting anywhere now (dependency, backoff, data …); None: it may start.
    held: str | None = None
    # Until then it gets no capacity beyond its project's quota: it was preempted often.
    over_quota_from: float = 0.0


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes kept for a large job. `claim`: it is within its project's quota. `expected`: its start, if known."""

    job: str
    nodes: tuple[str, ...]
    claim: bool = False
    expected: float | None = None


@dataclass(frozen=True)
class Snapshot:
    now: float
    nodes: tuple[Node, ...]
    projects: tuple[Project, ...]
    running: tuple[Running, ...] = ()
    pending: tuple[Pending, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    # Take over-quota jobs from projects above their share for those below it.
    rebalance: bool = True
    # Preempted, but not ended yet: they hold nothing any more, and want to run again.
    ending: tuple[Running, ...] = ()

    @cached_property
    def pools(self) -> tuple[str, ...]:
        return tuple(sorted({node.pool for node in self.nodes}))
