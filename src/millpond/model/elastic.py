"""Elastic computes: machines that are created while jobs wait for them, and deleted when they are idle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

MAX_NODES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticSpec:
    """How many machines of which size, and the provisioner that makes them."""

    # The directory of its commands, among the server's provisioners.
    provisioner: str
    site: str
    # For its commands, as MILL_OPTION_<KEY>.
    options: Mapping[str, str] = field(default_factory=dict)
    # What one machine has.
    cpus: int = 1
    memory_bytes: int = 0
    gpus: int = 0
    gpu_type: str = ""
    gpu_memory_bytes: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    # The driver of its agents.
    driver: str = "process"
    # Of one machine, in the currency of the links' prices.
    price_per_hour: float = 0.0
    minimum: int = 0
    maximum: int = 1
    # How long a job waits before a machine is created for it, and how long one without jobs is kept.
    wait_seconds: int = 5
    idle_seconds: int = 600
    # How long a machine may take until its agent has joined, and an agent may be away.
    start_seconds: int = 900
    # Where jobs of all projects share one account: every project may run there.
    trust_all: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class ElasticCompute:
    id: str
    name: str
    spec: ElasticSpec
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str
    # Machines in a row that did not come up or were of no use; nothing is created before `retry_at`.
    failures: int = 0
    retry_at: datetime | None = None
    # What is wrong with its provisioner, or was with the newest machine.
    problem: str | None = None


class ElasticState(Enum):
    CREATING = "creating"  # recorded; its create command has not ended yet
    STARTING = "starting"  # the machine is there, its agent has not joined yet
    READY = "ready"
    DELETING = "deleting"
    GONE = "gone"

    @property
    def counts(self) -> bool:
        """True if it is one of the machines that the limits are about."""
        return self in (ElasticState.CREATING, ElasticState.STARTING, ElasticState.READY)


@dataclass(frozen=True, slots=True)
class ElasticNode:
    """One machine. Its name is unique for ever: by it the provisioner knows the machine."""

    id: str
    elastic_id: str
    elastic: str
    name: str
    state: ElasticState
    # Why it was created or is being deleted.
    reason: str
    join_token_id: str
    created_at: datetime
    # The compute that its agent joined with.
    compute_id: str | None = None
    ready_at: datetime | None = None
    deleting_at: datetime | None = None
    gone_at: datetime | None = None
    # True once it has run a job.
    used: bool = False
    price_per_hour: float = 0.0
    problem: str | None = None
