"""What the files of a working copy held when they were last read, so that unchanged ones are not read again.

The file is a sequence of blocks of records in the order of paths, each block with its own digest. It is read
beside a scan, which has the same order, and written anew by each scan: neither needs it whole in memory. A block
that is damaged, or a file of another version, is as good as absent.
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from millpond.lake.batch import NUMBERS_SIZE, Batch, changed_at
from millpond.lake.digests import DIGEST_SIZE, digest_of
from millpond.processes import exists

logger = logging.getLogger(__name__)

# Git's "racy" rule: a file changed this shortly before it was read may change again without a new timestamp.
# Two seconds are the coarsest clock of a file system in use.
RACY_NANOSECONDS = 2_000_000_000

_MAGIC = b"MSC1"
_BLOCK = struct.Struct("<II32s")
_BLOCK_MOST = 64 << 20
_RECORDS_PER_BLOCK = 1024

# Path, numbers, kind, content and digest.
_Record = tuple[bytes, bytes, int, int, bytes]


class StatCache:
    """Looks up and records files in the order of their paths, for the length of one scan.

    `with StatCache(path) as cache`: leaving the block keeps what was recorded, also after an error; what the
    scan did not come to is kept from before.
    """

    def __init__(self, path: Path, *, rehash: bool = False) -> None:
        self._path = path
        self._aside = path.with_name(f"{path.name}.{os.getpid()}")
        self._known = iter(()) if rehash else _read(path)
        self._next = next(self._known, None)
        self._pending: list[_Record] = []
        self._last = b""
        self._out: BinaryIO | None = None
        # When the scan began, by the clock that stamps the files; 0 if nothing can be written.
        self.moment = 0

    def __enter__(self) -> StatCache:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _remove_left_behind(self._path)
            self._out = open(self._aside, "wb")
            self._out.write(_MAGIC)
            # The clock of the file system that also stamps the files: it may be another machine's.
            self.moment = os.fstat(self._out.fileno()).st_mtime_ns
        except OSError as error:
            self._give_up(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._keep_the_rest()
        while self._pending:
            self._write_block()
        try:
            if self._out is not None:
                self._out.close()
                self._aside.replace(self._path)
        except OSError as problem:
            self._give_up(problem)
        if self._out is None:
            with suppress(OSError):  # nothing was written, or it could not be: then it cannot be removed either
                self._aside.unlink()

    def lookup(self, batch: Batch) -> None:
        """Fill in the rows of files that have not changed since they were recorded. Batches must come in order."""
        known = self._next
        if known is None:
            return
        for number, (path, kind, status) in enumerate(batch.found):
            while known is not None and known[0] < path:
                known = next(self._known, None)
            if known is None:
                break
            if known[:3] == (path, batch.numbers[number], kind) and status is not None:
                batch.rows[number] = (path, kind, known[3], status.st_size, known[4])
        self._next = known

    def record(self, batch: Batch) -> None:
        """Remember what its files hold, but for those too fresh to be trusted. Batches must come in order."""
        files = [(row, numbers) for row, numbers in zip(batch.rows, batch.numbers, strict=True) if row and numbers]
        if not is_settled(batch.newest, self.moment):
            files = [(row, numbers) for row, numbers in files if is_settled(changed_at(numbers), self.moment)]
        self._pending += [(path, numbers, kind, content, digest) for (path, kind, content, _, digest), numbers in files]
        while len(self._pending) >= _RECORDS_PER_BLOCK:
            self._write_block()

    def _keep_the_rest(self) -> None:
        last = self._pending[-1][0] if self._pending else self._last
        while self._next is not None:
            if self._next[0] > last:
                self._pending.append(self._next)
            self._next = next(self._known, None)

    def _write_block(self) -> None:
        block, self._pending = self._pending[:_RECORDS_PER_BLOCK], self._pending[_RECORDS_PER_BLOCK:]
        if block and self._out is not None:
            self._last = block[-1][0]
            payload = _encode(block)
            try:
                self._out.write(_BLOCK.pack(len(block), len(payload), digest_of(payload)) + payload)
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """A full disk or a read-only directory costs time at the next scan, and nothing else."""
        logger.warning("stat_cache_not_written path=%s reason=%s", self._path, error.strerror)
        if self._out is not None:
            with suppress(OSError):
                self._out.close()
        self._out = None


def is_settled(changed: int, moment: int) -> bool:
    """Whether another change after `moment` is sure to show in the timestamps of what was changed last at `changed`."""
    return changed + RACY_NANOSECONDS < moment


def _remove_left_behind(path: Path) -> None:
    """What killed scans wrote. One that still runs on another machine loses its notes, too: that costs time only."""
    for aside in path.parent.glob(f"{path.name}.*"):
        writer = aside.name.rpartition(".")[2]
        if writer.isdecimal() and not exists(int(writer)):
            aside.unlink(missing_ok=True)


def _encode(records: Sequence[_Record]) -> bytes:
    paths, numbers, kinds, contents, digests = zip(*records, strict=True)
    lengths = struct.pack(f"<{len(paths)}H", *map(len, paths))
    return b"".join((*numbers, bytes(kinds), bytes(contents), *digests, lengths, *paths))


def _read(path: Path) -> Iterator[_Record]:
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    with file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return
        while len(head := file.read(_BLOCK.size)) == _BLOCK.size:
            count, length, digest = _BLOCK.unpack(head)
            payload = file.read(min(length, _BLOCK_MOST))
            if len(payload) != length or digest_of(payload) != digest:
                return
            yield from _decode(payload, count)


def _decode(payload: bytes, count: int) -> Iterator[_Record]:
    kinds = count * NUMBERS_SIZE
    digests = kinds + 2 * count
    lengths = digests + DIGEST_SIZE * count
    at = lengths + 2 * count
    for number, length in enumerate(struct.unpack_from(f"<{count}H", payload, lengths)):
        yield (
            payload[at : at + length],
            payload[number * NUMBERS_SIZE : (number + 1) * NUMBERS_SIZE],
            payload[kinds + number],
            payload[kinds + count + number],
            payload[digests + number * DIGEST_SIZE : digests + (number + 1) * DIGEST_SIZE],
        )
        at += length
