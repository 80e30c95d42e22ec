from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from millpond.errors import BadFormat, Incomplete
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of
from millpond.lake.needs import blobs_needed
from millpond.lake.pages import LeafPage, decode_page, encode_leaf
from millpond.model.tree import Content, Entry, Kind

CHUNKS = ChunkList([digest_of(b"c1"), digest_of(b"c2")], [1 << 20, 5])
LISTING = encode_chunk_list(CHUNKS)
BIG = Entry(b"big", Kind.FILE, CHUNKS.size, Content.CHUNKS, digest_of(LISTING))


def leaf_of(*entries: Entry) -> LeafPage:
    page = decode_page(encode_leaf(entries))
    assert isinstance(page, LeafPage)
    return page


def read(digests: Sequence[bytes]) -> dict[bytes, bytes]:
    return {digest: LISTING for digest in digests if digest == BIG.digest}


def test_names_contents_lists_and_chunks_once() -> None:
    leaf = leaf_of(
        BIG,
        replace(BIG, path=b"big-again"),
        Entry(b"empty", Kind.FILE),
        Entry(b"external", Kind.FILE, 9, Content.EXTERNAL, digest_of(b"descriptor")),
        Entry(b"link", Kind.SYMLINK, 4, Content.BLOB, digest_of(b"blob")),
        Entry(b"same", Kind.FILE, 4, Content.BLOB, digest_of(b"blob")),
    )
    expected = [digest_of(part) for part in (LISTING, b"c1", b"c2", b"descriptor", b"blob")]
    assert sorted(blobs_needed(leaf, read)) == sorted(expected)


def test_a_chunk_list_that_cannot_be_read_is_missing() -> None:
    with pytest.raises(Incomplete):
        blobs_needed(leaf_of(BIG), lambda digests: {})


def test_chunks_must_add_up_to_the_file() -> None:
    with pytest.raises(BadFormat):
        blobs_needed(leaf_of(replace(BIG, size=CHUNKS.size + 1)), read)
    with pytest.raises(BadFormat):
        blobs_needed(leaf_of(BIG, replace(BIG, path=b"c", size=CHUNKS.size + 1)), read)
