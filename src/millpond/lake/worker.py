"""A process that works for this one: it reads orders from one pipe and answers on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class Worker:
    """It ends with its orders. `kill` ends it whatever it is doing; it has ended when its answers have."""

    orders: BinaryIO
    answers: BinaryIO
    kill: Callable[[], None]
