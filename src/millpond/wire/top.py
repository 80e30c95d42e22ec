"""Nodes and running jobs as they are used now."""

from __future__ import annotations

from millpond.wire.base import Response, Time


class TopNode(Response):
    """Of `gpus`, so many are `gpus_allocated`, and `gpus_idle` of those have done nothing for five minutes.

    `cpus_reserved` and `memory_reserved_bytes` are what jobs asked for, `cpus_used` and `memory_used_bytes` what they
    use.
    """

    compute: str
    site: str
    node: str
    jobs: int
    gpus: int
    gpu_model: str
    gpus_allocated: float
    gpus_idle: float
    gpu_percent: float | None
    cpus: int
    cpus_reserved: int
    cpus_used: float
    memory_bytes: int
    memory_reserved_bytes: int
    memory_used_bytes: int


class TopJob(Response):
    """Null for what was not measured within the last minute. `idle`: its GPUs have done nothing for five minutes."""

    id: str
    name: str
    project: str
    user: str
    compute: str | None
    node: str | None
    started_at: Time | None
    gpus: float
    gpu_percent: float | None
    idle: bool
    cpus_used: float | None
    memory_used_bytes: int | None


class Top(Response):
    nodes: list[TopNode]
    jobs: list[TopJob]
