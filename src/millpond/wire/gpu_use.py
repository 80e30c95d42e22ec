"""GPUs as they are used now. Amounts are numbers of GPUs, utilisation is in per cent."""

from __future__ import annotations

from millpond.wire.base import Response


class NodeGpus(Response):
    """`idle` of the `allocated` GPUs have done nothing for more than five minutes.

    `utilization` is of all GPUs of the node over the last minute; null where jobs run and nobody measures.
    """

    compute: str
    site: str
    node: str
    gpus: int
    gpu_model: str
    allocated: float
    idle: float
    utilization: float | None
    running: int


class JobGpus(Response):
    """`utilization` is the mean over its GPUs and the last minute; null where nobody measures."""

    id: str
    utilization: float | None
    idle: bool


class GpuUse(Response):
    """The GPUs of every connected node, and of every running job that one may see."""

    gpus: int
    allocated: float
    idle: float
    nodes: list[NodeGpus]
    jobs: list[JobGpus]
