"""Computes, how they join, what is done to them, and tests of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.agent import PROTOCOL
from millpond.wire.base import Request, Response, Time
from millpond.wire.trust import Trust


class Node(Response):
    name: str
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_model: str
    # Of each GPU; 0 where it is not known.
    gpu_memory_bytes: int = 0
    declared: bool
    running: int
    cpu_used: int
    memory_used_bytes: int
    gpu_used_hundredths: int
    labels: dict[str, str] = {}
    # Why its cluster starts nothing new there, in the cluster's words; None where it does.
    closed: str | None = None
    # When it left its compute. It is listed while jobs still run there; nothing new starts on it.
    left_at: Time | None = None


class Capabilities(Response):
    """What the compute's driver can honour."""

    # A job may name its image; jobs that name none run in `default_image`, if there is one.
    containers: bool
    default_image: str | None = None
    limits_enforced: bool
    gpu_fractions: Literal["none", "accounted", "enforced"] = "accounted"
    gangs: bool = False
    mpi: bool = False
    services: bool = False
    routers: bool = False
    # Why it cannot run replicas or routers of endpoints, and what to do.
    serving_problem: str = ""
    ports: bool = False
    exec: bool = False
    # What a job may ask of the driver, each with the label by which nodes list what they offer of it; "": any value.
    job_options: dict[str, str] = {}
    # Jobs of all projects share one operating-system account.
    shared_trust: bool
    # The engine has a queue of its own: a job that it was given may wait there.
    queues: bool = False


class Compute(Response):
    """A compute with sums over its nodes; `declared` if the numbers of any were told, not measured."""

    id: str
    name: str
    kind: Literal["machine", "cluster"]
    site: str
    driver: str
    # None until its agent has reported.
    capabilities: Capabilities | None
    # `version`, `seen_at` and `revoked_at` are those of the agent that speaks for it, or did last.
    version: str
    health: Literal["ok", "draining", "cordoned", "away", "new", "revoked"]
    connected: bool
    seen_at: Time | None
    created_at: Time
    cordoned: bool
    cordoned_by: str | None
    cordoned_at: Time | None
    revoked_at: Time | None
    trust: Trust = Trust()
    declared: bool
    cpus: int
    cpu_used: int
    memory_bytes: int
    memory_used_bytes: int
    gpus: int
    gpu_used_hundredths: int
    # Jobs that are placed there and have not ended.
    running: int
    nodes: list[Node]


class JoinTokenCreate(Request):
    """For a new compute at a site, or for an agent that is to speak for a compute that is known."""

    site: str | None = None
    compute: str | None = None
    seconds: int = 3600


class JoinToken(Response):
    """A token as it is listed; its secret is not kept anywhere."""

    id: str
    site: str
    created_by: str
    created_at: Time
    expires_at: Time
    used_at: Time | None
    # The compute it is for, or that joined with it, while that is attached.
    compute: str | None = None


class NewJoinToken(JoinToken):
    """Shown once."""

    secret: str


class Join(Request):
    """An agent exchanges a join token. It has made its credential itself and tells its SHA-256."""

    token: str = Field(max_length=200)
    credential_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    protocol: int = PROTOCOL
    version: str
    name: str
    # Refused when the name is taken; otherwise a number is put behind it.
    exact: bool = False
    # Refused when the token is for another one.
    site: str | None = None
    driver: str = "process"


class Joined(Response):
    agent_id: str
    name: str
    site: str


class Drain(Request):
    # Running jobs are stopped instead of let finish.
    stop: bool = False


class Check(Request):
    """One thing a test of a compute looked at. `value` is in `unit`, for programs; `message` is for people."""

    name: str
    state: Literal["ok", "failed", "skipped"]
    message: str
    value: float | None = None
    unit: str | None = None


class Checks(Request):
    """What an agent found."""

    checks: list[Check] = Field(max_length=1000)


class ComputeTest(Response):
    id: str
    compute: str
    created_by: str
    created_at: Time
    ended_at: Time | None
    # Empty until the agent has told.
    checks: list[Check]
