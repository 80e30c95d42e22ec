"""Cutting what comes as a stream into the blobs of a file: the same blobs as if it had been a file on disk."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from millpond.errors import Corrupt
from millpond.lake.chunking import cut
from millpond.lake.chunks import WHOLE_MOST, ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of
from millpond.lake.stable_read import BlobSink
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def entry_of_stream(
    path: bytes, size: int, parts: Iterator[bytes], sink: BlobSink, *, sha256: str | None = None
) -> Entry:
    """The entry of a file of `size` bytes, its blobs given to `sink`.

    Corrupt if there are fewer or more bytes, or if they are not what `sha256` says.
    """
    if not size:
        return Entry(path, Kind.FILE)
    stream = _Stream(parts)
    if size <= WHOLE_MOST:
        data = stream.readall()
        _check(path, stream, size, sha256)
        digest, content = digest_of(data), Content.BLOB
        sink(digest, memoryview(data))
        return Entry(path, Kind.FILE, size, content, digest)
    digests: list[bytes] = []
    lengths: list[int] = []
    for chunk in cut(cast(BinaryIO, stream)):
        digests.append(digest_of(chunk))
        lengths.append(len(chunk))
        sink(digests[-1], chunk)
    _check(path, stream, size, sha256)
    listing = encode_chunk_list(ChunkList(digests, lengths))
    sink(digest_of(listing), memoryview(listing))
    return Entry(path, Kind.FILE, size, Content.CHUNKS, digest_of(listing))


def _check(path: bytes, stream: _Stream, size: int, sha256: str | None) -> None:
    if stream.count != size:
        raise Corrupt(f"{to_text(path)!r} has {stream.count} bytes, not {size}.")
    if sha256 is not None and stream.sha256.hexdigest() != sha256:
        raise Corrupt(f"{to_text(path)!r} came with other bytes than its SHA-256 says.")


class _Stream(io.RawIOBase):
    """Parts as a file that can only be read on."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        super().__init__()
        self.count = 0
        self.sha256 = hashlib.sha256()
        self._parts = parts
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self.sha256.update(part)
            self._left = memoryview(part)
        view = memoryview(buffer).cast("B")
        taken = min(len(view), len(self._left))
        view[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        self.count += taken
        return taken
