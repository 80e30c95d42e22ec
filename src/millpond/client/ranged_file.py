"""A file of a commit as Python reads files: seekable, fetching what is touched."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from millpond.lake.content import ContentReader, FileContent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_ONLY = "Commits are read-only. Change files in a folder and run: mill data sync"


def check_mode(mode: str) -> None:
    """io.UnsupportedOperation unless `mode` is one of reading."""
    if set(mode) - set("rbt") or "r" not in mode:
        raise io.UnsupportedOperation(f"mode {mode!r}: {READ_ONLY}")


class RangedFile(io.RawIOBase):
    """Unbuffered; wrap it into io.BufferedReader. `reader` gives the reader of this process: a file outlives a fork."""

    def __init__(self, reader: Callable[[], ContentReader], content: FileContent, name: str) -> None:
        super().__init__()
        self.name = name
        self.size = content.size
        self._reader = reader
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if origin + offset < 0:
            raise ValueError(f"negative position {origin + offset}")
        self._at = origin + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._reader().read(self._content, self._at, self._at + len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def readall(self) -> bytes:
        """The rest at once: several ranges are then fetched side by side."""
        data = self._reader().read(self._content, self._at, self.size)
        self._at += len(data)
        return data
