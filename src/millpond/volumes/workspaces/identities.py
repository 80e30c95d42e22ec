"""What the files of a snapshot were in the tree that it was taken of, written while it was.

A copy has another inode and other times than its original. With this record a file that is the same in the tree as it
was at the last kept snapshot is known, and neither read nor sent again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

from millpond.lake.batch import NUMBERS_SIZE, Batch, changed_at
from millpond.lake.statcache import is_settled
from millpond.volumes.workspaces.tree_process import NO_NUMBERS, receive, send

_MAGIC = b"MWI1"


class IdentityWriter:
    """Writes a record in the order of paths. Made before the first file is looked at."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - closed by `close`
        self._file.write(_MAGIC)
        # By the clock of the file system that stamps the files.
        self._moment = os.fstat(self._file.fileno()).st_mtime_ns

    def __call__(self, directory: bytes, names: Sequence[bytes], numbers: bytes) -> None:
        send(self._file, (self._moment, directory, list(names), numbers))

    def __enter__(self) -> IdentityWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def identified(path: Path, batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, where each file has the numbers that it had in the tree; those not in the record keep theirs.

    A file that was changed so shortly before the snapshot that another change need not show gets numbers that nothing
    else has: it is read again next time.
    """
    known = read_identities(path)
    current = next(known, None)
    unlike = count(1)
    for batch in batches:
        for number, (name, _, status) in enumerate(batch.found):
            while current is not None and current[0] < name:
                current = next(known, None)
            if status is not None and current is not None and current[0] == name:
                _, numbers, moment = current
                is_known = numbers != NO_NUMBERS and is_settled(changed_at(numbers), moment)
                batch.numbers[number] = numbers if is_known else _unlike(moment, next(unlike))
        batch.is_identified = True
        yield batch


def _unlike(moment: int, number: int) -> bytes:
    """Numbers that no file has, nor had at an earlier snapshot."""
    return moment.to_bytes(8, "little") + number.to_bytes(8, "little") + bytes(NUMBERS_SIZE - 16)


def read_identities(path: Path) -> Iterator[tuple[bytes, bytes, int]]:
    """Paths with numbers and the moment of the snapshot; nothing of a record that is missing or damaged."""
    with suppress(FileNotFoundError), open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        with suppress(EOFError, ValueError, TypeError):
            while True:
                moment, directory, names, numbers = receive(file)
                prefix = directory + b"/" if directory else b""
                for at, name in enumerate(names):
                    yield prefix + name, numbers[at * NUMBERS_SIZE : (at + 1) * NUMBERS_SIZE], moment
