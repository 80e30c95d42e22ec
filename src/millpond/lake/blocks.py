"""Blocks of packs in a local directory: whoever reads many small files fetches a few megabytes at a time.

A block is a range of one pack that holds small blobs next to each other. All processes of a user share the directory:
the workers of a data loader fetch each block about once. Nothing here is trusted: whoever reads a blob compares it with
its digest.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from millpond.blobs.store import Buffer
from millpond.lake.lru import Kept
from millpond.model.dataset import BlobPlace

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BLOCK_BYTES = 4 << 20
# Larger blobs are worth a request of their own.
SMALL_BLOB = 256 << 10
_GAP_MOST = 64 << 10
_OPEN_MOST = 64
# When the directory is full, the oldest go until so much of it is left.
_LEFT = 0.9
_LOCK = ".lock-"
_WHERE = attrgetter("pack_id", "offset")

Fetch = Callable[[str, int, int], Buffer]


@dataclass(frozen=True, slots=True)
class Block:
    pack_id: str
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.pack_id}-{self.start}-{self.end}"


def blocks(places: Iterable[BlobPlace]) -> list[Block]:
    """Blocks that hold the small ones among these; a blob is never cut."""
    found: list[Block] = []
    for place in sorted((place for place in places if place.stored <= SMALL_BLOB), key=_WHERE):
        last, end = (found[-1] if found else None), place.offset + place.stored
        near = last is not None and last.pack_id == place.pack_id and place.offset - last.end <= _GAP_MOST
        if last is not None and near and end - last.start <= BLOCK_BYTES:
            found[-1] = Block(last.pack_id, last.start, max(last.end, end))
        else:
            found.append(Block(place.pack_id, place.offset, end))
    return found


class BlockCache:
    """A directory of at most `most_bytes`, the least recently opened out first. Safe for threads and processes."""

    def __init__(self, directory: Path, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._directory = directory
        self._open = Kept[str, mmap.mmap](_OPEN_MOST)

    def get(self, block: Block) -> mmap.mmap | None:
        found = self._open.get(block.name)
        if found is None:
            path = self._directory / block.name
            try:
                with path.open("rb") as file:
                    os.utime(file.fileno())
                    found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):  # absent, or empty
                return None
            if len(found) != block.end - block.start:
                return None
            self._open.put(block.name, found)
        return found

    def put(self, block: Block, data: Buffer) -> None:
        """Keep it, if there is room: a cache that cannot be written is no reason to fail."""
        with suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(len(data))
            descriptor, temporary = tempfile.mkstemp(dir=self._directory, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                Path(temporary).replace(self._directory / block.name)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise

    def drop(self, block: Block) -> None:
        """Forget one that turned out to be damaged."""
        self._open.drop(block.name)
        with suppress(OSError):
            (self._directory / block.name).unlink(missing_ok=True)

    @contextmanager
    def alone(self, block: Block) -> Iterator[None]:
        """Only one process at a time is here for a block. Without locks of the file system it may be fetched twice."""
        with ExitStack() as stack:
            with suppress(OSError):
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = stack.enter_context((self._directory / f"{_LOCK}{block.pack_id[:2]}-{block.start}").open("wb"))
                if fcntl is not None:
                    fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make_room(self, needed: int) -> None:
        with os.scandir(self._directory) as listing:
            kept = sorted(
                (status.st_mtime, status.st_size, entry.path) for entry in listing if (status := _stat(entry))
            )
        total = sum(size for _, size, _ in kept) + needed
        if total <= self.most_bytes:
            return
        for _, size, path in kept:
            if total <= self.most_bytes * _LEFT:
                return
            with suppress(FileNotFoundError):
                Path(path).unlink()
            total -= size


class BlockReader:
    """Reads small blobs of one commit through a cache of blocks. Safe for threads."""

    def __init__(self, cache: BlockCache, fetch: Fetch) -> None:
        self._cache = cache
        self._fetch = fetch
        self._lock = threading.Lock()
        self._by_pack: dict[str, list[Block]] = {}
        self._touched: set[Block] = set()
        self._reads_many = False

    def note(self, places: Iterable[BlobPlace]) -> None:
        """The places of one leaf: its blobs are now found in blocks."""
        with self._lock:
            for block in blocks(places):
                known = self._by_pack.setdefault(block.pack_id, [])
                if block not in known:
                    known.insert(bisect_right(known, block.start, key=lambda other: other.start), block)

    def stored(self, place: BlobPlace) -> memoryview | None:
        """The bytes of a blob as they are stored; None where it is better read by itself."""
        block = self._block_of(place)
        if block is None:
            return None
        data: mmap.mmap | Buffer | None = self._cache.get(block)
        if data is None:
            if not self._is_worth_it(block):
                return None
            data = self._fetched(block)
        at = place.offset - block.start
        return memoryview(data)[at : at + place.stored]

    def drop(self, place: BlobPlace) -> None:
        block = self._block_of(place)
        if block is not None:
            self._cache.drop(block)

    def _fetched(self, block: Block) -> mmap.mmap | Buffer:
        with self._cache.alone(block):
            found = self._cache.get(block)  # another worker was quicker
            if found is not None:
                return found
            data = self._fetch(block.pack_id, block.start, block.end)
            self._cache.put(block, data)
            return data

    def _is_worth_it(self, block: Block) -> bool:
        """From the second blob of one block on: whoever reads a single file gets a single file."""
        with self._lock:
            self._reads_many = self._reads_many or block in self._touched
            self._touched.add(block)
            return self._reads_many

    def _block_of(self, place: BlobPlace) -> Block | None:
        if place.stored > SMALL_BLOB:
            return None
        known = self._by_pack.get(place.pack_id, ())
        number = bisect_right(known, place.offset, key=lambda block: block.start)
        # Leaves may share a pack: blocks of one may lie inside blocks of another.
        inside = (block for block in reversed(known[:number]) if place.offset + place.stored <= block.end)
        return next(inside, None)


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except FileNotFoundError:  # another process made room
        return None
