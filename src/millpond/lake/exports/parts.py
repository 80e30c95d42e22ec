"""The parts of an export file: kind, length and name stand before each, a checksum behind it.

Whoever reads checks all of a file before anything is made of it: what is cut off or altered is not imported in part.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO

from blake3 import blake3

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt
from millpond.lake.digests import DIGEST_SIZE

SCHEMA = "millpond.export/1"
FIRST_LINE = f"{SCHEMA}\n".encode()
NO_NAME = bytes(DIGEST_SIZE)

_FAMILY = SCHEMA.encode().rpartition(b"/")[0] + b"/"
_HEAD = struct.Struct(f"<B7xQ{DIGEST_SIZE}s")
_READ_BYTES = 1 << 20
# A document that opens to more than this is none of ours; packs, pages and locators have limits of their own.
DOCUMENT_MOST = 256 << 20


class PartKind(IntEnum):
    MANIFEST = 1
    HISTORY = 2
    COMMIT = 3
    PAGE = 4
    LOCATOR = 5
    PACK = 6
    END = 7


@dataclass(frozen=True, slots=True)
class Part:
    """Where the payload of a part lies; `name` is the digest or number of what it holds."""

    kind: PartKind
    name: bytes
    start: int
    length: int


class PartWriter:
    """Writes an export from its first line to its last part, without ever going back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._whole = blake3(FIRST_LINE)
        self._parts = 0
        self.size = file.write(FIRST_LINE)

    def write(self, kind: PartKind, name: bytes, payload: Buffer) -> None:
        head = _HEAD.pack(kind, len(payload), name)
        checksum = blake3(head).update(payload).digest()
        self._whole.update(checksum)
        for piece in (head, payload, checksum):
            self._file.write(piece)
            self.size += len(piece)
        self._parts += 1

    def finish(self) -> str:
        """Write the last part; the digest of the whole."""
        digest = self._whole.hexdigest()
        end = {"bytes": self.size, "digest": digest, "parts": self._parts}
        self.write(PartKind.END, NO_NAME, json.dumps(end, sort_keys=True).encode())
        return digest


@dataclass(frozen=True, slots=True)
class CheckedParts:
    """Every part of a whole and unaltered file, without the last."""

    parts: list[Part]
    digest: str


def check_parts(file: BinaryIO, name: str, told: Callable[[int], None] = lambda done: None) -> CheckedParts:
    """Read all of an export and check it. BadFormat if it is none, or of a newer version; Corrupt if it is damaged.

    `told` hears how many bytes were read.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    _check_first_line(file.read(len(FIRST_LINE)), name)
    whole = blake3(FIRST_LINE)
    parts: list[Part] = []
    at = len(FIRST_LINE)
    while True:
        part, checksum = _read_part(file, at, size, name, told)
        at = part.start + part.length + DIGEST_SIZE
        if part.kind is PartKind.END:
            break
        whole.update(checksum)
        parts.append(part)
    digest = whole.hexdigest()
    end = {"bytes": part.start - _HEAD.size, "digest": digest, "parts": len(parts)}
    file.seek(part.start)
    if file.read(part.length) != json.dumps(end, sort_keys=True).encode() or at != size:
        raise _damaged(name, part.start, "parts are missing, or something was added")
    return CheckedParts(parts, digest)


def _read_part(file: BinaryIO, at: int, size: int, name: str, told: Callable[[int], None]) -> tuple[Part, bytes]:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise _damaged(name, size, "it is cut off there")
    number, length, part_name = _HEAD.unpack(head)
    start = at + _HEAD.size
    if start + length + DIGEST_SIZE > size:
        raise _damaged(name, at, "it is cut off, or altered there")
    digest = blake3(head)
    left = length
    while left:
        piece = file.read(min(left, _READ_BYTES))
        if not piece:
            raise _damaged(name, size, "it is cut off there")
        digest.update(piece)
        left -= len(piece)
        told(start + length - left)
    checksum = digest.digest()
    if file.read(DIGEST_SIZE) != checksum:
        raise _damaged(name, at, "its checksum does not match")
    try:
        kind = PartKind(number)
    except ValueError as error:
        raise BadFormat(f"{name} holds a part of the unknown kind {number}.", hint="Use a newer Millpond.") from error
    return Part(kind, part_name, start, length), checksum


def _check_first_line(line: bytes, name: str) -> None:
    if line == FIRST_LINE:
        return
    if line and FIRST_LINE.startswith(line):
        raise _damaged(name, len(line), "it is cut off there")
    if line.startswith(_FAMILY) and line[len(_FAMILY) : len(_FAMILY) + 1].isdigit():
        raise BadFormat(
            f"{name} is an export of another version ({line.split()[0].decode(errors='replace')}); "
            f"this Millpond reads {SCHEMA}.",
            hint="Use a newer Millpond here.",
        )
    raise BadFormat(f"{name} is not an export of Millpond.", hint="Make one: mill data export DATASET@REF FILE")


def _damaged(name: str, at: int, why: str) -> Corrupt:
    return Corrupt(
        f"{name} is damaged at byte {at:,}: {why}. Nothing was imported.",
        hint="Copy it again from where it was made, and compare the digests: mill data export prints it.",
    )
