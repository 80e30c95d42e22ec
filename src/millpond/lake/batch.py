"""What a scan found, some hundred things at a time and in columns: handing them on one by one costs more than reading.

A batch is filled in from left to right: what is known of unchanged files, then what was read of the others.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.pages import Row, row_of
from millpond.lake.scan import Found
from millpond.lake.stable_read import Reading
from millpond.model.tree import NO_DIGEST, Content, Kind

# Bytes of small files that are in memory at once: some milliseconds of reading.
_BATCH_BYTES = 4 << 20
_NUMBERS = struct.Struct("<QQqq")
NUMBERS_SIZE = _NUMBERS.size


@dataclass(slots=True)
class Batch:
    """Things found one behind the other, in the order of a tree."""

    found: list[Found]
    # Of each, what changes when it does; nothing of an empty directory.
    numbers: list[bytes]
    # When the last of them was changed, by the clock of their file system.
    newest: int
    # The entry of each, once it is known.
    rows: list[Row | None]
    # Those that were not known before they were read.
    unread: list[int] = field(default_factory=list)
    # Its numbers are those of what these files are copies of: whatever is read of them does not change that.
    is_identified: bool = False
    # What small ones hold that were read.
    blobs: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def has_known(self) -> bool:
        """Whether it has files that need not be read."""
        return len(self.unread) < len(self.numbers) - self.numbers.count(b"")

    def take(self, number: int, reading: Reading) -> None:
        """Fill in what was read of a file, which may have been changed since it was found."""
        self.rows[number] = row_of(reading.entry)
        if not self.is_identified:
            self.numbers[number] = numbers_of(reading.status)
        self.newest = max(self.newest, reading.status.st_mtime_ns, reading.status.st_ctime_ns)
        if reading.data:
            self.blobs.append((reading.entry.digest, reading.data))


def batches(runs: Iterable[list[Found]]) -> Iterator[Batch]:
    """Batches that take some milliseconds to read, and little memory."""
    for run in runs:
        for found in _of_bounded_size(run):
            statuses = [status for _, _, status in found if status is not None]
            yield Batch(found, *_columns(found, statuses), rows=_directories(found, len(statuses)))


def numbers_of(status: os.stat_result) -> bytes:
    """What changes when a file does."""
    return _NUMBERS.pack(status.st_ino & 0xFFFFFFFFFFFFFFFF, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def changed_at(numbers: bytes) -> int:
    """When a file with these numbers was changed last."""
    _, _, modified, changed = _NUMBERS.unpack(numbers)
    return int(max(modified, changed))


def _columns(found: list[Found], statuses: list[os.stat_result]) -> tuple[list[bytes], int]:
    numbers = [b"" if status is None else numbers_of(status) for _, _, status in found]
    if not statuses:
        return numbers, -sys.maxsize
    return numbers, max(max([s.st_mtime_ns for s in statuses]), max([s.st_ctime_ns for s in statuses]))


def _directories(found: list[Found], files: int) -> list[Row | None]:
    if len(found) == files:
        return [None] * files
    return [(path, kind, Content.NOTHING, 0, NO_DIGEST) if kind == Kind.DIRECTORY else None for path, kind, _ in found]


def _of_bounded_size(run: list[Found]) -> Iterator[list[Found]]:
    """A large file, which is read piece by piece, ends a batch: what was done is told batch by batch."""
    start = total = 0
    for number, found in enumerate(run, start=1):
        size = found.size
        total += size
        if total >= _BATCH_BYTES or size > WHOLE_MOST:
            yield run[start:number]
            start, total = number, 0
    if start < len(run):
        yield run[start:]
