"""TensorBoard's event files: records with checksums, each a protobuf message. Read by hand: TensorFlow is not needed.

length (8 bytes) · masked CRC-32C of it (4) · message · masked CRC-32C of the message (4)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from millpond.errors import Corrupt

# Longer ones (images) are not checked: it takes a second for each few megabytes.
_CHECKED_MOST = 1 << 20
_RECORD_MOST = 1 << 30
_POLYNOMIAL = 0x82F63B78


def _table() -> list[int]:
    found = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        found.append(value)
    return found


_TABLE = _table()


def read_records(path: Path) -> Iterator[bytes]:
    """The messages of a file. Corrupt, after all whole ones, where it ends too early or a checksum is wrong."""
    with path.open("rb") as file:
        while (message := _record(file, path)) is not None:
            yield message


def masked_crc(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _record(file: BinaryIO, path: Path) -> bytes | None:
    begin = file.tell()
    head = file.read(12)
    if not head:
        return None
    if len(head) < 12:
        raise _damaged(path, begin, "it ends in the middle of a record")
    length, check = struct.unpack("<QI", head)
    if masked_crc(head[:8]) != check or length > _RECORD_MOST:
        raise _damaged(path, begin, "the length of a record is damaged")
    body = file.read(length + 4)
    if len(body) < length + 4:
        raise _damaged(path, begin, "it ends in the middle of a record")
    message = body[:length]
    if length <= _CHECKED_MOST and masked_crc(message) != struct.unpack("<I", body[length:])[0]:
        raise _damaged(path, begin, "the checksum of a record is wrong")
    return message


def _damaged(path: Path, at: int, reason: str) -> Corrupt:
    return Corrupt(f"{path} is damaged from byte {at} on: {reason}. What comes before was read.")


# Protobuf ---------------------------------------------------------------------------------------------


def fields_of(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: an integer, or the bytes of a text, message, or number of 4 or 8 bytes.

    ValueError for bytes that are no message.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
                yield tag >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case _:
                raise ValueError("not a message")
        if at + size > len(message):
            raise ValueError("not a message")
        yield tag >> 3, message[at : at + size]
        at += size


def signed(value: int) -> int:
    """Integers of 64 bits are written without a sign."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("not a message")
