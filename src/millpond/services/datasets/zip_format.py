"""The zip format, written in one pass: nothing is revisited, so an archive can be sent while it is made.

Small files carry their length and checksum in front. Of larger ones both stand behind the content, which is always
deflate then: stored content of unknown length is what many programs cannot read. The directory at the end is
collected in a temporary file, so memory does not grow with the number of files. Zip64 fields appear where numbers
need them. Everything is written with one time: trees have none of their own.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from millpond.blobs.store import Buffer

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_MOST = 0xFFFF_FFFF
# Deflate makes what does not shrink a little longer: above this, lengths are written with eight bytes.
_LARGE = 0xF000_0000
_VERSION, _VERSION64 = 20, 45
_MADE_BY = 3 << 8 | _VERSION64  # Unix, so that modes count
_UTF8 = 1 << 11
_LENGTHS_BEHIND = 1 << 3
_STORED, _DEFLATED = 0, 8
_DIRECTORY_ATTRIBUTE = 0x10
_FIRST_YEAR, _LAST_YEAR = 1980, 2107
# Fast rather than small: archives are made while somebody waits, and what shrinks at all shrinks well at level 1.
_LEVEL = 1
_SPOOL_BYTES = 1 << 20
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """The content of one file as it stands in an archive."""

    method: int
    checksum: int
    size: int
    content: Buffer


def pack(data: Buffer, *, shrinks: bool) -> Packed:
    """Deflated where that pays. Called from several threads."""
    checksum = zlib.crc32(data)
    if shrinks:
        deflated = zlib.compress(data, _LEVEL, wbits=-zlib.MAX_WBITS)
        if len(deflated) < len(data):
            return Packed(_DEFLATED, checksum, len(data), deflated)
    return Packed(_STORED, checksum, len(data), data)


class ZipWriter:
    """Every method returns bytes to send next. Names are relative, with `/`, and end with one for directories."""

    def __init__(self, time: datetime) -> None:
        self._time = _dos_time(time)
        self._offset = 0
        self._count = 0
        self._directory = tempfile.SpooledTemporaryFile(_SPOOL_BYTES)  # noqa: SIM115 - closed by `close`

    def close(self) -> None:
        self._directory.close()

    def add(self, name: str, mode: int, packed: Packed) -> list[Buffer]:
        """A whole file, link or directory."""
        start = self._offset
        encoded = name.encode()
        sizes = (packed.checksum, len(packed.content), packed.size)
        head = _LOCAL.pack(b"PK\3\4", _VERSION, _UTF8, packed.method, *self._time, *sizes, len(encoded), 0)
        self._offset += len(head) + len(encoded) + len(packed.content)
        self._note(encoded, mode, _UTF8, packed.method, sizes, start)
        return [head, encoded, packed.content]

    def add_large(self, name: str, mode: int, size: int, chunks: Iterator[Buffer], *, shrinks: bool) -> Iterator[bytes]:
        """A file of any length, a chunk at a time."""
        start = self._offset
        encoded, flags = name.encode(), _UTF8 | _LENGTHS_BEHIND
        is_large = size >= _LARGE
        extra = struct.pack("<2H2Q", 1, 16, 0, 0) if is_large else b""
        unknown = _MOST if is_large else 0
        version = _VERSION64 if is_large else _VERSION
        yield self._count_out(
            _LOCAL.pack(
                b"PK\3\4", version, flags, _DEFLATED, *self._time, 0, unknown, unknown, len(encoded), len(extra)
            )
            + encoded
            + extra
        )
        begin = self._offset
        checksum = length = 0
        deflate = zlib.compressobj(_LEVEL if shrinks else 0, zlib.DEFLATED, -zlib.MAX_WBITS)
        for chunk in chunks:
            checksum, length = zlib.crc32(chunk, checksum), length + len(chunk)
            yield self._count_out(deflate.compress(chunk))
        yield self._count_out(deflate.flush())
        sizes = (checksum, self._offset - begin, length)
        yield self._count_out(b"PK\7\x08" + struct.pack("<I2Q" if is_large else "<3I", *sizes))
        self._note(encoded, mode, flags, _DEFLATED, sizes, start)

    def finish(self) -> Iterator[bytes]:
        """The directory of the archive, and its end."""
        start, length = self._offset, self._directory.tell()
        self._directory.seek(0)
        while part := self._directory.read(_READ_BYTES):
            yield part
        if self._count > 0xFFFF - 1 or start >= _MOST or length >= _MOST:
            yield _END64.pack(
                b"PK\6\6", 44, _MADE_BY, _VERSION64, 0, 0, self._count, self._count, length, start
            ) + _LOCATOR64.pack(b"PK\6\7", 0, start + length, 1)
        count = min(self._count, 0xFFFF)
        yield _END.pack(b"PK\5\6", 0, 0, count, count, min(length, _MOST), min(start, _MOST), 0)

    def _count_out(self, data: bytes) -> bytes:
        self._offset += len(data)
        return data

    def _note(self, name: bytes, mode: int, flags: int, method: int, sizes: tuple[int, int, int], start: int) -> None:
        """Write the entry's line of the directory."""
        checksum, stored, raw = sizes
        wide = [number for number in (raw, stored, start) if number >= _MOST]
        extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        version = _VERSION64 if wide else _VERSION
        attributes = mode << 16 | (_DIRECTORY_ATTRIBUTE if name.endswith(b"/") else 0)
        fields = (checksum, min(stored, _MOST), min(raw, _MOST), len(name), len(extra), 0, 0, 0)
        line = _CENTRAL.pack(
            b"PK\1\2", _MADE_BY, version, flags, method, *self._time, *fields, attributes, min(start, _MOST)
        )
        self._directory.write(line + name + extra)
        self._count += 1


def _dos_time(time: datetime) -> tuple[int, int]:
    """Time and date as MS-DOS wrote them: two seconds are the smallest step, and the years are few."""
    value = time.astimezone(UTC)
    if value.year < _FIRST_YEAR:
        return 0, 1 << 5 | 1
    year = min(value.year, _LAST_YEAR) - _FIRST_YEAR
    return value.hour << 11 | value.minute << 5 | value.second // 2, year << 9 | value.month << 5 | value.day
