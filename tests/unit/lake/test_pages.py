from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, Corrupt
from millpond.lake.digests import digest_of, id_of
from millpond.lake.pages import (
    IndexPage,
    LeafPage,
    PageRef,
    decode_page,
    encode_index,
    encode_leaf,
    pack_page,
    unpack_page,
)
from millpond.model.tree import NO_DIGEST, Content, Entry, Kind
from millpond.testing.lake import many_files, trees

BLOB = digest_of(b"x")


def a_file(path: bytes, **values: object) -> Entry:
    return replace(Entry(path, Kind.FILE, 1, Content.BLOB, BLOB), **values)  # type: ignore[arg-type]


@given(trees())
def test_a_leaf_comes_back_as_it_was(entries: list[Entry]) -> None:
    data = encode_leaf(entries)
    page = decode_page(data)
    assert isinstance(page, LeafPage)
    assert list(page.entries()) == entries
    assert page.files == sum(entry.kind != Kind.DIRECTORY for entry in entries)
    assert unpack_page(id_of(data), pack_page(data)) == data


@given(st.lists(st.tuples(st.integers(1, 2**40), st.integers(0, 2**40)), min_size=1, max_size=30), st.integers(1, 7))
def test_an_index_page_comes_back_as_it_was(counts: list[tuple[int, int]], level: int) -> None:
    children = [
        PageRef(id_of(bytes([n])), level - 1, entries, size, b"p%03d" % n) for n, (entries, size) in enumerate(counts)
    ]
    page = decode_page(encode_index(level, children))
    assert isinstance(page, IndexPage)
    assert page.children() == children


@given(trees(), st.data())
def test_any_other_bytes_are_refused_or_are_another_page(entries: list[Entry], data: st.DataObject) -> None:
    """Decoding accepts nothing but what encoding makes: damage is refused, or is the encoding of something else."""
    encoded = bytearray(encode_leaf(entries))
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] ^= data.draw(st.integers(1, 255))
    try:
        page = decode_page(encoded)
    except BadFormat:
        return
    assert isinstance(page, LeafPage)
    assert encode_leaf(list(page.entries())) == bytes(encoded)


@pytest.mark.parametrize(
    "entries",
    [
        [a_file(b"b"), a_file(b"a")],
        [a_file(b"a"), a_file(b"a")],
        [a_file(b"a"), a_file(b"a/b")],
        [a_file(b"a"), a_file(b"a-b"), a_file(b"a/b")],
        [a_file(b"a"), a_file(b"a.b"), a_file(b"a/b/c")],
        *([a_file(path)] for path in (b"", b"/a", b"a/", b"a//b", b".", b"..", b"a/..", b"../a", b"a/./b", b"a\0b")),
        [a_file(b"x" * 256)],
        [a_file(b"/".join([b"x" * 200] * 21))],
        [a_file(b"a", size=0)],
        [a_file(b"a", size=(1 << 20) + 1)],
        [a_file(b"a", content=Content.CHUNKS)],
        [a_file(b"a", kind=Kind.DIRECTORY)],
        [a_file(b"a", kind=Kind.SYMLINK, size=4097)],
        [Entry(b"a", Kind.SYMLINK)],
        [Entry(b"a", Kind.FILE, 1)],
        [Entry(b"a", Kind.FILE, 0, Content.NOTHING, BLOB)],
        [a_file(b"a", digest=b"short")],
        [*many_files(4097)],
    ],
)
def test_entries_that_cannot_stand_in_a_tree_are_refused(entries: list[Entry]) -> None:
    with pytest.raises(BadFormat):
        encode_leaf(entries)


@pytest.mark.parametrize("path", [b"...", b"..a", b".a", b"a/...", b"a/..b/c", b"x" * 255, b"\xff", b"a\nb", b" "])
def test_odd_but_honest_paths_are_kept(path: bytes) -> None:
    page = decode_page(encode_leaf([a_file(path)]))
    assert list(page.paths) == [path]


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"MLP2" + data[4:],
        lambda data: data[:5] + b"\1" + data[6:],
        lambda data: data[:8] + struct.pack("<I", 2**32 - 1) + data[12:],
        lambda data: data[:4] + b"\x09" + data[5:],
        lambda data: b"",
    ],
)
def test_a_page_of_another_shape_is_refused(change: object) -> None:
    data = encode_leaf([a_file(b"a"), a_file(b"b")])
    with pytest.raises(BadFormat):
        decode_page(change(data))  # type: ignore[operator]


def test_a_stored_page_must_match_its_id() -> None:
    data = encode_leaf([a_file(b"a")])
    with pytest.raises(Corrupt):
        unpack_page(id_of(b"other"), pack_page(data))
    with pytest.raises(Corrupt):
        unpack_page(id_of(data), pack_page(data)[:-3])


def test_the_empty_directory_has_no_digest() -> None:
    page = decode_page(encode_leaf([Entry(b"empty", Kind.DIRECTORY)]))
    assert isinstance(page, LeafPage)
    assert page.digest(0) == NO_DIGEST
