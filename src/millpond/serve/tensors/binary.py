"""Tensors as raw bytes: row-major, little-endian; BYTES elements are preceded by their length in four bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..errors import ServeError
from .datatypes import Array, check_shape, numpy_type

Buffer = bytes | bytearray | memoryview
_LENGTH = struct.Struct("<I")


def from_binary(name: str, datatype: str, shape: list[int], data: Buffer) -> Array:
    """The tensor of these bytes, without a copy where possible; 400 if they are not exactly as many as it has."""
    count = check_shape(name, shape)
    if datatype == "BYTES":
        return _from_byte_strings(name, count, data).reshape(shape)
    kind = numpy_type(datatype)
    expected = count * (2 if datatype == "BF16" else kind.itemsize)
    if len(data) != expected:
        raise ServeError(400, f"input '{name}' has {len(data)} bytes, but its shape and datatype need {expected}")
    if datatype == "BF16":
        return _from_bf16(data).reshape(shape)
    return np.frombuffer(data, kind).reshape(shape)


def to_binary(array: Array, datatype: str) -> Buffer:
    if datatype == "BYTES":
        return _to_byte_strings(array)
    if datatype == "BF16":
        return _to_bf16(array)
    contiguous = np.ascontiguousarray(array)
    # A view of nothing cannot be cast.
    return contiguous.data.cast("B") if contiguous.size else b""


def byte_string(element: Any) -> bytes:
    """An element of a BYTES tensor as bytes: text in UTF-8, anything else as it is printed."""
    if isinstance(element, bytes):
        return element
    return element.encode() if isinstance(element, str) else str(element).encode()


def _from_byte_strings(name: str, count: int, data: Buffer) -> Array:
    # Each element takes four bytes at least: a lying shape must not make us allocate.
    if count * 4 > len(data):
        raise ServeError(400, f"input '{name}' has {len(data)} bytes, too few for {count} elements")
    view, offset = memoryview(data), 0
    elements = np.empty(count, np.object_)
    for index in range(count):
        if offset + 4 > len(view):
            raise ServeError(400, f"input '{name}' ends before element {index} of {count}")
        (length,) = _LENGTH.unpack_from(view, offset)
        offset += 4
        if offset + length > len(view):
            raise ServeError(400, f"element {index} of input '{name}' says {length} bytes, more than there are")
        elements[index] = bytes(view[offset : offset + length])
        offset += length
    if offset != len(view):
        raise ServeError(400, f"input '{name}' has {len(view) - offset} bytes after its {count} elements")
    return elements


def _to_byte_strings(array: Array) -> bytes:
    parts: list[bytes] = []
    for element in array.reshape(-1).tolist():
        data = byte_string(element)
        parts.append(_LENGTH.pack(len(data)))
        parts.append(data)
    return b"".join(parts)


def _from_bf16(data: Buffer) -> Array:
    """BF16 is the upper half of a float32."""
    return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)


def _to_bf16(array: Array) -> bytes:
    """Round to the nearest, ties to even; a NaN stays one."""
    values = np.ascontiguousarray(array, np.float32)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), (bits >> np.uint32(16)) | np.uint32(0x40), rounded).astype("<u2").tobytes()
