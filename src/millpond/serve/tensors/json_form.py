"""Tensors in JSON: a list of numbers, truth values or strings, nested by the shape or flat."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ServeError
from .binary import byte_string
from .datatypes import Array, check_shape, numpy_type

_INTEGER_KINDS = frozenset("iu")


def from_json(name: str, datatype: str, shape: list[int], data: object) -> Array:
    """The tensor of this JSON list; 400 if an element is missing, of another type, or does not fit."""
    count = check_shape(name, shape)
    if datatype == "BF16":
        raise ServeError(400, f"input '{name}' is BF16, which has no form in JSON: send it as binary data")
    kind = numpy_type(datatype)
    if not isinstance(data, list):
        raise ServeError(400, f"data of input '{name}' must be a list")
    flat = _flattened(data) if data and type(data[0]) is list else data
    if len(flat) != count:
        raise ServeError(400, f"input '{name}' has {len(flat)} elements, but its shape needs {count}")
    array = _byte_strings(name, flat) if datatype == "BYTES" else _numbers(name, datatype, kind, flat)
    return array.reshape(shape)


def to_json(array: Array, datatype: str) -> list[Any]:
    """The elements as a flat list, which is what servers of this protocol answer with."""
    if datatype == "BYTES":
        return [_text(element) for element in array.reshape(-1).tolist()]
    return array.reshape(-1).tolist()


def _flattened(data: list[Any]) -> list[Any]:
    """All elements of a nested list; ragged ones are told by their number."""
    flat = data
    while flat and type(flat[0]) is list:
        if not all(type(part) is list for part in flat):
            raise ServeError(400, "data mixes lists and single elements")
        flat = [element for part in flat for element in part]
    return flat


def _numbers(name: str, datatype: str, kind: np.dtype[Any], flat: list[Any]) -> Array:
    kinds = set(map(type, flat))
    allowed = {bool} if kind.kind == "b" else {int} if kind.kind in _INTEGER_KINDS else {int, float}
    if not kinds <= allowed:
        odd = next(element for element in flat if type(element) not in allowed)
        raise ServeError(400, f"input '{name}' is {datatype}, but has the element {str(odd)[:40]!r}")
    try:
        with np.errstate(over="ignore"):
            array: Array = np.array(flat, kind)
    except (OverflowError, ValueError):
        raise ServeError(400, f"input '{name}' has an element that does not fit {datatype}") from None
    if kind.kind == "f" and flat and not np.isfinite(array).all():
        raise ServeError(400, f"input '{name}' has an element that does not fit {datatype}")
    return array


def _byte_strings(name: str, flat: list[Any]) -> Array:
    array = np.empty(len(flat), np.object_)
    for index, element in enumerate(flat):
        if type(element) is not str:
            raise ServeError(400, f"input '{name}' is BYTES, but has the element {str(element)[:40]!r}")
        array[index] = element.encode("utf-8", "surrogatepass")
    return array


def _text(element: Any) -> str:
    try:
        return byte_string(element).decode()
    except UnicodeDecodeError:
        raise ServeError(
            400, "an output has bytes that are no UTF-8 text, which JSON cannot tell: ask for binary data"
        ) from None
