"""What the server asks of a framework, and what a framework is told of the model to load."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..config import PbConfig
from ..errors import ServeError
from ..request import InferRequest
from ..statistics import BatchTimes
from ..tensors.datatypes import Array

Arrays = dict[str, Array]
# The batch of models that can, and whose configuration does not say how much.
DERIVED_BATCH = 256


class Backend(Protocol):
    """One instance of a loaded model; used by one thread at a time, not always the same.

    `inline` is True if it only computes: a quick run may then happen in the thread that reads requests.
    """

    inline: bool

    def execute(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
        """Outputs or an error for each request, in their order. Requests have equal inputs but for the first dimension.

        Raises if none can be answered.
        """
        ...

    def close(self) -> None: ...


class Predictor(Protocol):
    """The simple kind of framework: arrays in, arrays out. `Stacked` makes a backend of it."""

    inline: bool

    def predict(self, inputs: Arrays, outputs: Sequence[str]) -> Mapping[str, Array]:
        """All outputs, or at least those named; none named means all."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Source:
    """A version of a model to load. `config` is completed by whoever loads it, where it does not say something."""

    name: str
    version: int
    folder: Path
    version_folder: Path
    file: Path
    config: PbConfig

    @property
    def instances(self) -> int:
        return max(1, sum(int(group.count) for group in self.config.instance_group))

    def parameter(self, key: str) -> str:
        return self.config.parameters[key].string_value if key in self.config.parameters else ""

    def refuse(self, why: str) -> ServeError:
        return ServeError(400, f"cannot load model '{self.name}' version {self.version}: {why}")


def usable_cores() -> int:
    """Cores that this process may use; frameworks count those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Load(Protocol):
    """The function `load` that each module of a backend has."""

    def __call__(self, source: Source) -> Sequence[Backend]: ...
