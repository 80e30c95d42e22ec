"""What a client asks of a model, and what it gets: the same for HTTP and gRPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .tensors import Tensor

Parameters = Mapping[str, Any]
_NONE: Parameters = {}

# Named tuples: some are made for each request, and a frozen dataclass takes several times as long.


class RequestedOutput(NamedTuple):
    """An output that the client wants; with `classes` as the highest so many of it, told as "value:index:label"."""

    name: str
    classes: int = 0


class InferRequest(NamedTuple):
    """One inference. No version is the newest that serves; no outputs are all of them; no timeout is the model's."""

    model: str
    inputs: tuple[Tensor, ...]
    version: str = ""
    id: str = ""
    outputs: tuple[RequestedOutput, ...] = ()
    parameters: Parameters = _NONE
    timeout_us: int = 0
    priority: int = 0


class InferResponse(NamedTuple):
    model: str
    version: str
    outputs: tuple[Tensor, ...]
    id: str = ""
    parameters: Parameters = _NONE
