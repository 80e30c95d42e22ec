"""What a client asks of a model, and what it gets: the same for HTTP and gRPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .tensors import Tensor

Parameters = Mapping[str, Any]
_NONE: Parameters = {}


@dataclass(frozen=True, slots=True)
class RequestedOutput:
    """An output that the client wants; with `classes` as the highest so many of it, told as "value:index:label"."""

    name: str
    classes: int = 0


@dataclass(frozen=True, slots=True)
class InferRequest:
    """One inference. No version is the newest that serves; no outputs are all of them; no timeout is the model's."""

    model: str
    inputs: tuple[Tensor, ...]
    version: str = ""
    id: str = ""
    outputs: tuple[RequestedOutput, ...] = ()
    parameters: Parameters = field(default_factory=lambda: _NONE)
    timeout_us: int = 0
    priority: int = 0


@dataclass(frozen=True, slots=True)
class InferResponse:
    model: str
    version: str
    outputs: tuple[Tensor, ...]
    id: str = ""
    parameters: Parameters = field(default_factory=lambda: _NONE)
