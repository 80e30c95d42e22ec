"""Names in messages of the protocol, read and replaced in their bytes without reading the tensors.

All requests that name a model have its name in field 1 and its version in field 2; an inference has its id in field 3.
Of a field that is there twice the last one holds, so a name is replaced by appending it.
"""

from __future__ import annotations

from dataclasses import dataclass

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Not a message of the protocol."""


@dataclass(frozen=True, slots=True)
class WireNames:
    """The texts of fields 1 to 3."""

    model: str = ""
    version: str = ""
    id: str = ""


def read_names(message: bytes) -> WireNames:
    """The names in a message. WireError where it is none."""
    found = ["", "", "", ""]
    position, end = 0, len(message)
    while position < end:
        tag, position = _varint(message, position)
        field, kind = tag >> 3, tag & 7
        if kind == _BYTES:
            size, position = _varint(message, position)
            if position + size > end:
                raise WireError("a field is longer than the message")
            if 1 <= field <= 3:
                found[field] = _text(message[position : position + size])
            position += size
        elif kind == _VARINT:
            _, position = _varint(message, position)
        elif kind == _FIXED64:
            position += 8
        elif kind == _FIXED32:
            position += 4
        else:
            raise WireError(f"wire type {kind} is not known")
    if position != end:
        raise WireError("a field is longer than the message")
    return WireNames(*found[1:])


def text_field(number: int, text: str) -> bytes:
    """A text as field of a message."""
    return bytes_field(number, text.encode())


def bytes_field(number: int, content: bytes) -> bytes:
    """A text, bytes or message as field of a message."""
    return bytes((number << 3 | _BYTES,)) + _encoded(len(content)) + content


def true_field(number: int) -> bytes:
    return bytes((number << 3 | _VARINT, 1))


def with_names(message: bytes, model: str, version: str) -> bytes:
    """The message with another model and version."""
    return b"".join((message, text_field(1, model), text_field(2, version)))


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        if position >= len(message) or shift > 63:
            raise WireError("a number is cut off")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _encoded(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WireError("a name is not UTF-8") from error
