"""Many pages in one request: each as its digest, its length and its frame, one behind the other."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from millpond.errors import BadFormat
from millpond.lake.digests import DIGEST_SIZE

# A page takes at most a little more than a megabyte, mostly some tens of kilobytes.
BATCH_BYTES = 4 << 20

_HEAD = struct.Struct(f"<{DIGEST_SIZE}sI")


def page_batches(pages: Iterable[tuple[str, bytes]]) -> Iterator[dict[str, bytes]]:
    """Frames by the ids of their pages, some megabytes at a time."""
    batch: dict[str, bytes] = {}
    size = 0
    for page_id, frame in pages:
        if batch and size + len(frame) > BATCH_BYTES:
            yield batch
            batch, size = {}, 0
        batch[page_id] = frame
        size += len(frame)
    if batch:
        yield batch


def pack_batch(pages: Mapping[str, bytes]) -> bytes:
    parts = ((_HEAD.pack(bytes.fromhex(page_id), len(frame)), frame) for page_id, frame in pages.items())
    return b"".join(part for pair in parts for part in pair)


def unpack_batch(data: bytes) -> dict[str, bytes]:
    """The frames, none of which is looked at; BadFormat if `data` does not consist of whole ones."""
    pages: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        start = at + _HEAD.size
        if start > len(data):
            raise BadFormat("A batch of pages ends within the head of one.")
        digest, length = _HEAD.unpack_from(data, at)
        at = start + length
        if at > len(data):
            raise BadFormat("A batch of pages ends within one.")
        pages[digest.hex()] = data[start:at]
    return pages
