"""Reading one file so that what is committed was its content at one moment, never a mixture of two."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, NamedTuple, TypeVar, cast

from millpond.errors import Conflict, Forbidden
from millpond.lake.chunking import cut_batches
from millpond.lake.chunks import WHOLE_MOST, ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of
from millpond.lake.ignore import LEAVE_OUT
from millpond.lake.long_paths import open_at, read_deep_link
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind

# File systems stamp changes with a clock that ticks every few milliseconds. A file that was changed within this
# time may be changed again with the same stamp, so it is left alone for as long before it is read.
_TICK_NANOSECONDS = 20_000_000
_ATTEMPTS = 4

T = TypeVar("T")

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = (
    os.O_RDONLY
    | _NOFOLLOW
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a fifo that took the file's place must not hold us up
    | getattr(os, "O_BINARY", 0)
)

# Takes each blob of a file as it is cut: digest and content. The content is valid only during the call.
BlobSink = Callable[[bytes, memoryview], None]


class _Changed(Exception):
    """The file is not what it was a moment ago."""


class Reading(NamedTuple):
    """One entry with the status it was read at. `data` is the content of what is one blob."""

    entry: Entry
    status: os.stat_result
    data: bytes | None = None


def is_settled(changed: int) -> bool:
    """Whether a change from now on will show in a file whose last one was then.

    Only what is near the present is not: a server's clock may be ahead of ours by far.
    """
    return abs(time.time_ns() - changed) >= _TICK_NANOSECONDS


def read_seen(full: bytes, seen: os.stat_result) -> bytes | None:
    """What a regular file holds that was settled and of one blob when it was seen, a moment ago: saves a question.

    None unless it still is the file that was seen when all of it is read: it must be read with care, by `read_whole`.
    """
    size = seen.st_size
    try:
        descriptor = os.open(full, _FLAGS)
    except OSError:
        return None
    try:
        data = os.read(descriptor, size + 1)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) == size and _same(seen, after) and after.st_ino == seen.st_ino and after.st_mode == seen.st_mode:
        return data
    return None


def read_whole(root: bytes, path: bytes) -> Reading | None:
    """Read a link or a file of one blob; None if it is larger than that. FileNotFoundError if it has vanished.

    Conflict if it changes faster than it can be read.
    """
    return _steadily(path, lambda: _read_whole(root, path))


def read_chunks(root: bytes, path: bytes, sink: BlobSink) -> Reading:
    """Read a file of any size, giving its blobs to `sink`: again from the beginning if it changes meanwhile."""

    def attempt() -> Reading:
        small = _read_whole(root, path)
        if small is None:
            return _read_chunks(root, path, sink)
        if small.data:
            sink(small.entry.digest, memoryview(small.data))
        return small

    return _steadily(path, attempt)


def _steadily(path: bytes, attempt: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            return attempt()
        except _Changed:
            time.sleep(2 * _TICK_NANOSECONDS / 1e9)
        except PermissionError as error:
            why = f"The file {to_text(path)!r} cannot be read: {error.strerror}."
            raise Forbidden(why, hint=LEAVE_OUT) from error
    raise Conflict(f"The file {to_text(path)!r} changes while it is read.", hint="Try again when nothing writes to it.")


def _read_whole(root: bytes, path: bytes) -> Reading | None:
    try:
        descriptor = _open(root, path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _read_link(root, path)
        raise
    try:
        before = _settled(descriptor)
        if before.st_size > WHOLE_MOST:
            return None
        data = os.read(descriptor, before.st_size + 1)
        while 0 < len(data) < before.st_size and (more := os.read(descriptor, before.st_size + 1 - len(data))):
            data += more
        if len(data) != before.st_size or not _same(before, os.fstat(descriptor)):
            raise _Changed
    finally:
        os.close(descriptor)
    return Reading(_entry(path, before, Content.BLOB, digest_of(data)), before, data)


def _read_link(root: bytes, path: bytes) -> Reading:
    full = root + b"/" + path
    try:
        target, status = os.readlink(full), os.lstat(full)  # noqa: PTH115 - bytes path
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise _Changed from error
        target, status = read_deep_link(root, path)
    return Reading(Entry(path, Kind.SYMLINK, len(target), Content.BLOB, digest_of(target)), status, target)


def _read_chunks(root: bytes, path: bytes, sink: BlobSink) -> Reading:
    digests: list[bytes] = []
    lengths: list[int] = []
    with open(_open(root, path), "rb", buffering=0) as file:
        before = _settled(file.fileno())
        for digest, chunk in _hashed(cut_batches(cast(BinaryIO, file), before.st_size)):
            digests.append(digest)
            lengths.append(len(chunk))
            sink(digest, chunk)
        after = os.fstat(file.fileno())
    if sum(lengths) != before.st_size or before.st_size <= WHOLE_MOST or not _same(before, after):
        raise _Changed
    listing = encode_chunk_list(ChunkList(digests, lengths))
    digest = digest_of(listing)
    sink(digest, memoryview(listing))
    return Reading(_entry(path, before, Content.CHUNKS, digest), before)


def _hashed(batches: Iterator[list[memoryview]]) -> Iterator[tuple[bytes, memoryview]]:
    """Each chunk with its digest, in order. One batch is hashed while the next is read and cut, which takes longer."""
    with ThreadPoolExecutor(1, "hash") as hasher:
        before: tuple[Future[list[bytes]], list[memoryview]] | None = None
        for batch in batches:
            coming = hasher.submit(_digests, batch), batch
            if before is not None:
                yield from zip(before[0].result(), before[1], strict=True)
            before = coming
        if before is not None:
            yield from zip(before[0].result(), before[1], strict=True)


def _digests(chunks: list[memoryview]) -> list[bytes]:
    return [digest_of(chunk) for chunk in chunks]


def _entry(path: bytes, status: os.stat_result, content: Content, digest: bytes) -> Entry:
    kind = Kind.EXECUTABLE if status.st_mode & stat.S_IXUSR else Kind.FILE
    if not status.st_size:
        return Entry(path, kind)
    return Entry(path, kind, status.st_size, content, digest)


def _settled(descriptor: int) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not is_settled(max(status.st_mtime_ns, status.st_ctime_ns)):
        raise _Changed
    return status


def _same(before: os.stat_result, after: os.stat_result) -> bool:
    return (
        before.st_size == after.st_size
        and before.st_mtime_ns == after.st_mtime_ns
        and before.st_ctime_ns == after.st_ctime_ns
    )


def _open(root: bytes, path: bytes) -> int:
    """Open without following a link: ELOOP says that it is one."""
    full = root + b"/" + path
    if not _NOFOLLOW and os.path.islink(full):  # noqa: PTH114 - bytes path
        raise OSError(errno.ELOOP, "is a link")
    return open_at(root, path, _FLAGS)
