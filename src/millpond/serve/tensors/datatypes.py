"""The datatypes of the protocol, and shapes that can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ServeError

Array = np.ndarray[Any, np.dtype[Any]]

_TYPES: dict[str, type[Any]] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BF16": np.float32,
    "BYTES": np.object_,
}
_NUMPY: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in _TYPES.items()}
DATATYPES = frozenset(_NUMPY)
_NAMES = {kind: name for name, kind in _NUMPY.items() if name != "BF16"}
# Beyond this no buffer could hold a tensor, and products still fit into 64 bits.
_MOST_ELEMENTS = 1 << 48
_MOST_DIMENSIONS = 32


class Tensor(NamedTuple):
    """A named array with the datatype it has on the wire."""

    name: str
    datatype: str
    array: Array


def numpy_type(datatype: str) -> np.dtype[Any]:
    try:
        return _NUMPY[datatype]
    except (KeyError, TypeError):
        raise ServeError(400, f"datatype {datatype!r} is not one of {', '.join(sorted(DATATYPES))}") from None


def datatype_of(array: Array) -> str:
    """The datatype that an array goes out as; strings of any kind are BYTES."""
    name = _NAMES.get(array.dtype)
    if name is None:
        if array.dtype.kind in "SUT":
            return "BYTES"
        if array.dtype.name == "bfloat16":
            return "BF16"
        raise ServeError(500, f"arrays of {array.dtype} have no datatype in the protocol")
    return name


def wire_size(datatype: str) -> int:
    """Bytes of an element on the wire; 0 for BYTES, whose elements have their own."""
    if datatype == "BF16":
        return 2
    return 0 if datatype == "BYTES" else numpy_type(datatype).itemsize


def check_shape(name: str, shape: object) -> int:
    """The number of elements; 400 if it is no list of whole numbers from 0 on, or their product is absurd."""
    if not isinstance(shape, Sequence) or isinstance(shape, str | bytes) or len(shape) > _MOST_DIMENSIONS:
        raise ServeError(400, f"shape of input '{name}' must be a list of at most {_MOST_DIMENSIONS} whole numbers")
    count = reach = 1
    for size in shape:
        if type(size) is not int or size < 0:
            raise ServeError(400, f"shape of input '{name}' must be whole numbers from 0 on, not {size!r}")
        count *= size
        # Without the zeros: numpy makes no array whose other dimensions are beyond any memory.
        reach *= max(1, size)
        if reach > _MOST_ELEMENTS:
            raise ServeError(400, f"shape of input '{name}' is too large")
    return count
