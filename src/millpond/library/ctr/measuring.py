"""How long something took, and how much memory a process had at most meanwhile."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Engine:
    """What one way to train took, in seconds and bytes; `memory` is the sum over its processes."""

    name: str
    load: float = 0.0
    fit: float = 0.0
    rows: int = 0
    accuracy: float = 0.0
    memory: int = 0

    @property
    def rows_per_second(self) -> float:
        return self.rows / (self.load + self.fit)


@contextmanager
def timed(engine: Engine, part: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    setattr(engine, part, getattr(engine, part) + time.perf_counter() - begin)


def peak_bytes() -> int:
    """Of this process, since it started."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
