"""Elastic computes and their machines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from millpond.model.elastic import MAX_NODES
from millpond.wire.base import Request, Response, Time

Key = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Label = Annotated[str, Field(min_length=1, max_length=330)]
Value = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
_DAY = 86_400


class ElasticPut(Request):
    """The whole of an elastic compute: its provisioner, the size of one machine, and how many there may be."""

    provisioner: str = Field(min_length=1, max_length=63)
    site: str = Field(min_length=1, max_length=63)
    options: Annotated[dict[Key, Value], Field(max_length=50)] = {}
    cpus: int = Field(default=1, ge=1, le=100_000)
    memory_bytes: int = Field(default=0, ge=0, le=1 << 50)
    gpus: int = Field(default=0, ge=0, le=1000)
    gpu_type: str = Field(default="", max_length=100)
    gpu_memory_bytes: int = Field(default=0, ge=0, le=1 << 50)
    labels: Annotated[dict[Label, Value], Field(max_length=50)] = {}
    driver: Literal["process", "podman"] = "process"
    price_per_hour: float = Field(default=0.0, ge=0, le=1_000_000)
    minimum: int = Field(default=0, ge=0, le=MAX_NODES)
    maximum: int = Field(default=1, ge=0, le=MAX_NODES)
    wait_seconds: int = Field(default=5, ge=0, le=_DAY)
    idle_seconds: int = Field(default=600, ge=0, le=366 * _DAY)
    start_seconds: int = Field(default=900, ge=1, le=_DAY)
    trust_all: bool = False
    description: str = Field(default="", max_length=1000)


class ElasticCreate(ElasticPut):
    name: str


class ElasticNode(Response):
    """One machine. `compute` is the id of the compute that its agent joined with."""

    name: str
    state: Literal["creating", "starting", "ready", "deleting", "gone"]
    reason: str
    problem: str | None
    compute: str | None
    created_at: Time
    ready_at: Time | None
    deleting_at: Time | None
    gone_at: Time | None
    price_per_hour: float


class Elastic(Response):
    """An elastic compute: machines are created while jobs wait for them, and deleted when they are idle.

    `nodes` are its newest machines, those that are gone among them. After `failures` in a row nothing is created
    before `retry_at`.
    """

    name: str
    provisioner: str
    site: str
    options: dict[str, str]
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_type: str
    gpu_memory_bytes: int
    labels: dict[str, str]
    driver: str
    price_per_hour: float
    minimum: int
    maximum: int
    wait_seconds: int
    idle_seconds: int
    start_seconds: int
    trust_all: bool
    description: str
    ready: int
    starting: int
    deleting: int
    failures: int
    retry_at: Time | None
    problem: str | None
    nodes: list[ElasticNode]
    created_at: Time
    created_by: str
    changed_at: Time
    changed_by: str
