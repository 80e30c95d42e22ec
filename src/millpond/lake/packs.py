"""Packs: many blobs in one object that ends with its own index."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.digests import DIGEST_SIZE, digest_of
from millpond.lake.encoding import RAW, ZSTD, BlobEncoder, decode_blob
from millpond.model.dataset import BlobPlace, place_of

PACK_MOST = 64 << 20
# Of one blob: what opens to more is a bomb. The largest are chunk lists, which hardly get smaller.
RAW_MOST = PACK_MOST
# Large enough to be fast, small enough that a few in flight fit into memory.
PACK_TARGET = 32 << 20

_TRAILER = struct.Struct("<II32s4s")
_MAGIC = b"MPK1"
_ROW = DIGEST_SIZE + 4 + 4 + 4 + 1
# Read together with the trailer: the index of some 1,400 blobs, so that most packs need one request.
_GUESS = 64 << 10


class PackWriter:
    """Builds one pack in memory. The caller asks `fits` before it adds, and finishes when it does not.

    `buffer` is the memory of an earlier pack, to be used again.
    """

    def __init__(self, target: int = PACK_TARGET, buffer: mmap.mmap | None = None) -> None:
        self._target = target
        self._buffer = _memory() if buffer is None else buffer
        self._view = memoryview(self._buffer)
        self._length = 0
        # Bytes of the pack if it were finished now.
        self.size = _TRAILER.size
        self._encoder = BlobEncoder()
        self._digests: dict[bytes, None] = {}
        self._stored: list[int] = []
        self._raw: list[int] = []
        self._encodings = bytearray()

    def __len__(self) -> int:
        return len(self._digests)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._digests

    def fits(self, raw_length: int) -> bool:
        """Whether a blob still fits below the target; an empty pack takes any blob that the format allows."""
        return self.size + _ROW + raw_length <= (self._target if self._digests else PACK_MOST)

    def add(self, digest: bytes, raw: Buffer) -> None:
        """Add a blob; a digest that is in the pack already is not added again."""
        if digest not in self._digests:
            encoding, stored = self._encoder.encode(raw)
            self.add_stored(digest, encoding, stored, len(raw))

    def add_stored(self, digest: bytes, encoding: int, stored: Buffer, raw_length: int) -> int:
        """Add a blob as another pack stores it, which this one does not hold yet; its offset."""
        offset, length = self._length, len(stored)
        size = self.size + _ROW + length
        if size > PACK_MOST or raw_length > RAW_MOST:
            raise BadFormat(f"A blob of {raw_length} bytes does not fit into a pack.")
        self._digests[digest] = None
        self._stored.append(length)
        self._raw.append(raw_length)
        self._encodings.append(encoding)
        self._view[offset : offset + length] = stored
        self._length += length
        self.size = size
        return offset

    def finish(self) -> memoryview:
        """The whole pack, which lies in the writer's buffer: valid until that is released. The writer is spent."""
        count = len(self)
        offsets = [0, *accumulate(self._stored)][:count]
        numbers = f"<{count}I"
        index = b"".join(
            (
                *self._digests,
                struct.pack(numbers, *offsets),
                struct.pack(numbers, *self._stored),
                struct.pack(numbers, *self._raw),
                bytes(self._encodings),
            )
        )
        end = index + _TRAILER.pack(count, len(index), digest_of(index), _MAGIC)
        self._view[self._length : self.size] = end
        return self._view[: self.size]

    def release(self) -> mmap.mmap:
        """The buffer, for another pack. Nothing here looks at it any more, however long somebody holds this writer."""
        self._view.release()
        return self._buffer


def _memory() -> mmap.mmap:
    """For the largest pack there can be: the system gives memory only where something is written, if it can in large
    pages, which takes half as long."""
    memory = mmap.mmap(-1, PACK_MOST)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def read_index(pack_id: str, size: int, read: Callable[[int, int], bytes]) -> list[BlobPlace]:
    """The places of all blobs of a pack of `size` bytes, through `read(start, end)`; BadFormat if it is no pack."""
    if not _TRAILER.size <= size <= PACK_MOST:
        raise BadFormat(f"{size} bytes cannot be a pack.")
    start = max(0, size - _GUESS)
    tail = read(start, size)
    count, length, digest, magic = _TRAILER.unpack_from(tail, len(tail) - _TRAILER.size)
    body = size - _TRAILER.size - length
    if magic != _MAGIC or length != count * _ROW or body < 0:
        raise BadFormat(f"Pack {pack_id} does not end with an index.")
    if body < start:
        tail = read(body, start) + tail
        start = body
    index = tail[body - start : body - start + length]
    if digest_of(index) != digest:
        raise BadFormat(f"The index of pack {pack_id} is damaged.")
    return _places(pack_id, index, count, body)


def verify_pack(pack_id: str, pack: Buffer) -> list[BlobPlace]:
    """Check every byte of a pack: its index and the digest of each blob. Corrupt or BadFormat otherwise."""
    view = memoryview(pack)
    places = read_index(pack_id, len(view), lambda start, end: bytes(view[start:end]))
    for place in places:
        stored = view[place.offset : place.offset + place.stored]
        decode_blob(place.digest, place.encoding, stored, place.raw)
    return places


def _places(pack_id: str, index: bytes, count: int, body: int) -> list[BlobPlace]:
    digests = list(_cut(index, count))
    at = count * DIGEST_SIZE
    offsets, stored, raw = (struct.unpack_from(f"<{count}I", index, at + n * 4 * count) for n in range(3))
    encodings = index[at + 12 * count :]
    _check_rows(pack_id, digests, offsets, stored, body)
    if (
        max(raw, default=0) > RAW_MOST
        or not set(encodings) <= {RAW, ZSTD}
        or any(s != r if e == RAW else s >= r for s, r, e in zip(stored, raw, encodings, strict=True))
    ):
        raise BadFormat(f"Pack {pack_id} names impossible lengths.")
    return list(map(place_of, zip(digests, [pack_id] * count, offsets, stored, raw, encodings, strict=True)))


def _check_rows(
    pack_id: str, digests: Sequence[bytes], offsets: Sequence[int], stored: Sequence[int], body: int
) -> None:
    if len(set(digests)) != len(digests):
        raise BadFormat(f"Pack {pack_id} names a blob twice.")
    ends = [0, *accumulate(stored)]
    if list(offsets) != ends[:-1] or ends[-1] != body or (stored and min(stored) == 0):
        raise BadFormat(f"The blobs of pack {pack_id} do not lie back to back.")


def _cut(data: bytes, count: int) -> Iterator[bytes]:
    for start in range(0, count * DIGEST_SIZE, DIGEST_SIZE):
        yield data[start : start + DIGEST_SIZE]
