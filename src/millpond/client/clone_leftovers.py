"""What a clone that was cut off has brought: the next one into the same folder takes it over, every byte checked."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from millpond.errors import MillError
from millpond.lake.chunks import ChunkList
from millpond.lake.digests import digest_of
from millpond.lake.pages import Row, entry_of
from millpond.lake.stable_read import read_chunks
from millpond.lake.target import Target
from millpond.model.tree import Content, Entry


class LeftBehind:
    """Whether files are of the same commit does not matter: each is taken only if it is what the tree names."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [os.fsencode(folder) for folder in folders]

    def __call__(self, rows: Sequence[Row], into: Target) -> tuple[Sequence[Row], Callable[[], Sequence[Row]]]:
        small = [row for row in rows if row[2] == Content.BLOB]
        others = [row for row in rows if row[2] != Content.BLOB]
        return others, lambda: [row for row in small if not self._take(row, into)]

    def begin(self, entry: Entry, chunks: ChunkList, into: Target) -> Sequence[bool] | None:
        """Make a large file of what had come of it, if anything had: which of its chunks are there."""
        for folder in self._folders:
            try:
                there = _chunks_in(folder + b"/" + entry.path, chunks)
                if there is not None:
                    self._move(folder, entry.path, into)
                    return there
            except OSError:
                continue  # not there, or not as it should be: it is fetched
        return None

    def _take(self, row: Row, into: Target) -> bool:
        entry = entry_of(row)
        for folder in self._folders:
            try:
                if read_chunks(folder, entry.path, lambda digest, data: None).entry == entry:
                    self._move(folder, entry.path, into)
                    return True
            except (OSError, MillError):
                continue  # as above
        return False

    def _move(self, folder: bytes, path: bytes, into: Target) -> None:
        os.rename(folder + b"/" + path, into.root + b"/" + path)  # noqa: PTH104 - bytes path


def _chunks_in(place: bytes, chunks: ChunkList) -> list[bool] | None:
    """Which chunks a file holds where they belong; None if none. Then zeros are where the others are to come."""
    descriptor = os.open(place, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_size != chunks.size:
            return None
        there: list[bool] = []
        others: list[tuple[int, int]] = []
        offset = 0
        for digest, length in zip(chunks.digests, chunks.lengths, strict=True):
            data = os.pread(descriptor, length, offset) if _has_data(descriptor, offset, length) else b""
            there.append(digest_of(data) == digest)
            if data and not there[-1]:
                others.append((offset, length))
            offset += length
        if not any(there):
            return None
        for offset, length in others:
            os.pwrite(descriptor, bytes(length), offset)
        return there
    finally:
        os.close(descriptor)


def _has_data(descriptor: int, offset: int, length: int) -> bool:
    """Whether anything was ever written there: what had not come yet is a hole, which need not be read."""
    if not hasattr(os, "SEEK_DATA"):
        return True
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA) < offset + length
    except OSError as error:
        return error.errno != errno.ENXIO  # nothing behind it either; or a file system that cannot tell
