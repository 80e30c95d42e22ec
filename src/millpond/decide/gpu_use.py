"""How much the GPUs of a node are used: held by jobs, held but idle, and busy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeldGpus:
    """What one job holds on one node. `percent` is how busy it keeps them; None where nobody measured."""

    hundredths: int
    percent: float | None
    is_idle: bool


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """`percent` is of all GPUs of the node; None where jobs hold some and none of them was measured."""

    idle_hundredths: int
    percent: float | None


def node_gpus(gpus: int, held: Iterable[HeldGpus]) -> NodeGpus:
    held = list(held)
    measured = [(one.hundredths, one.percent) for one in held if one.percent is not None]
    idle = sum(one.hundredths for one in held if one.is_idle)
    if gpus == 0 or (held and not measured):
        return NodeGpus(idle, None)
    return NodeGpus(idle, sum(amount * percent for amount, percent in measured) / (100 * gpus))
