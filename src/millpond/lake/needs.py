"""Which blobs a leaf page needs to be complete: what its entries name, and the chunks of its chunk lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from millpond.errors import BadFormat, Incomplete
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.pages import LeafPage
from millpond.model.tree import Content

# The content of blobs by digest, for chunk lists: few and small, asked for in one call.
ReadBlobs = Callable[[Sequence[bytes]], Mapping[bytes, bytes]]


def blobs_needed(leaf: LeafPage, read_blobs: ReadBlobs) -> list[bytes]:
    """Every blob that the entries of a leaf need, each once: contents, chunk lists and their chunks.

    BadFormat if a chunk list does not add up to the size of its file; Incomplete if one cannot be read.
    """
    needed: dict[bytes, None] = {}
    sizes: dict[bytes, int] = {}
    for number, content in enumerate(leaf.contents):
        if content == Content.NOTHING:
            continue
        digest = leaf.digest(number)
        needed[digest] = None
        if content == Content.CHUNKS and sizes.setdefault(digest, leaf.sizes[number]) != leaf.sizes[number]:
            raise BadFormat("One chunk list stands for two sizes.")
    lists = read_blobs(list(sizes)) if sizes else {}
    for digest, size in sizes.items():
        if digest not in lists:
            raise Incomplete(f"The chunk list {digest.hex()[:12]} is not in the lake.")
        chunks = decode_chunk_list(lists[digest])
        if chunks.size != size:
            raise BadFormat("The chunks of a file do not add up to its size.")
        needed.update(dict.fromkeys(chunks.digests))
    return list(needed)
