"""External entries: their descriptors, and how trees that hold them are fetched, read, checked and pushed again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, ChangedOutside, Corrupt
from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.content import ContentReader
from millpond.lake.digests import digest_of
from millpond.lake.external import Descriptor, decode_descriptor, encode_descriptor
from millpond.lake.external_files import encode_stand_ins, load_stand_ins, with_fetched
from millpond.lake.fetch import fetch_tree
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import pack_page
from millpond.lake.push import PushOptions, push_directory
from millpond.lake.stable_read import read_chunks
from millpond.lake.streaming import entry_of_stream
from millpond.lake.transfer import Meter
from millpond.lake.tree import build_tree
from millpond.lake.verify import verify_tree
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.lake import DirectLake

ONE = Descriptor("archive", "s3://b/ü", 3, '"e"')


def test_a_descriptor_byte_by_byte() -> None:
    assert encode_descriptor(ONE) == (
        '{"connection":"archive","etag":"\\"e\\"","format":1,"size":3,"uri":"s3://b/ü"}'.encode()
    )
    known = Descriptor("a", "s3://b/x", 3, "e", "0" * 64)
    assert decode_descriptor(encode_descriptor(known)) == known


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{}", b"[]", b'{"format":1}', encode_descriptor(ONE) + b" ",
        encode_descriptor(ONE).replace(b'"size":3', b'"size":0'),
        encode_descriptor(ONE).replace(b'"size":3', b'"size":-3'),
        encode_descriptor(ONE).replace(b'"size":3', b'"size":true'),
        encode_descriptor(ONE).replace(b'"size":3', b'"sha256":"xyz","size":3'),
        encode_descriptor(ONE).replace(b'"size":3', b'"other":1,"size":3'),
        encode_descriptor(ONE).replace(b'"archive"', b'""'),
        encode_descriptor(Descriptor("a", "s3://b/x", 3, 'W/"weak"')),
        encode_descriptor(Descriptor("a", "s3://b/x", 3, "two\r\nlines: x")),
        encode_descriptor(Descriptor("a", "s3://b/x", 3, "\u00fc")),
        encode_descriptor(ONE).replace(b'"archive"', b'"' + b"x" * 20_000 + b'"'),
    ],
)  # fmt: skip
def test_what_is_no_descriptor(raw: bytes) -> None:
    with pytest.raises(BadFormat):
        decode_descriptor(raw)


@given(st.binary(max_size=200), st.lists(st.integers(1, 50), max_size=8))
def test_a_stream_becomes_the_entry_of_the_same_file(data: bytes, cuts: list[int]) -> None:
    parts, at = [], 0
    for length in cuts:
        parts.append(data[at : at + length])
        at += length
    parts.append(data[at:])
    found: dict[bytes, bytes] = {}
    entry = entry_of_stream(b"x", len(data), iter(parts), lambda digest, blob: found.update({digest: bytes(blob)}))
    if data:
        assert entry == Entry(b"x", Kind.FILE, len(data), Content.BLOB, digest_of(data))
        assert found == {entry.digest: data}
    else:
        assert (entry, found) == (Entry(b"x", Kind.FILE), {})


def test_a_large_stream_is_cut_as_a_file_is(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(3 * WHOLE_MOST)
    (tmp_path / "x").write_bytes(data)
    expected = read_chunks(bytes(tmp_path), b"x", lambda digest, blob: None).entry
    parts = (data[at : at + 70_000] for at in range(0, len(data), 70_000))
    assert entry_of_stream(b"x", len(data), parts, lambda digest, blob: None) == expected
    with pytest.raises(Corrupt, match="not 7"):
        entry_of_stream(b"x", 7, iter([b"123456"]), lambda digest, blob: None)
    with pytest.raises(Corrupt, match="SHA-256"):
        entry_of_stream(b"x", 3, iter([b"123"]), lambda digest, blob: None, sha256="0" * 64)


def a_lake(files: dict[bytes, bytes]) -> tuple[DirectLake, str]:
    """A lake with a tree of external files, and one plain empty file."""
    lake = DirectLake()
    entries = [Entry(b"plain", Kind.FILE)]
    pages: dict[str, bytes] = {}
    with Packer(lake, Meter(None), PACK_TARGET) as packer:
        for path, content in files.items():
            raw = encode_descriptor(Descriptor("c", f"s3://b/{path.decode()}", len(content), "e"))
            packer.add(digest_of(raw), raw)
            lake.outside[digest_of(raw)] = content
            entries.append(Entry(path, Kind.FILE, len(content), Content.EXTERNAL, digest_of(raw)))
        packer.finish()
        tree = build_tree(sorted(entries, key=lambda entry: entry.path), lambda i, d: pages.update({i: pack_page(d)}))
        packer.put_all(lake.page_slots(list(pages)), pages)
    lake.accept(tree.root)
    return lake, tree.root


def test_fetched_read_verified_and_pushed_again(tmp_path: Path) -> None:
    files = {b"a": b"small", b"d/big": random.Random(2).randbytes(2 * WHOLE_MOST)}
    lake, root = a_lake(files)
    fetched = fetch_tree(lake, root, tmp_path / "out")
    assert (tmp_path / "out/a").read_bytes() == b"small"
    assert (tmp_path / "out/d/big").read_bytes() == files[b"d/big"]
    assert [entry.path for entry, _ in fetched.external] == [b"a", b"d/big"]
    reader = ContentReader(lake, root)
    assert reader.read(reader.open(b"d/big"), 1000, 1010) == files[b"d/big"][1000:1010]
    assert reader.read_many([(reader.open(b"a"), 1, 9), (reader.open(b"plain"), 0, 1)]) == [b"mall", b""]
    assert list(verify_tree(lake, root)) == []

    file = tmp_path / "stand-ins"
    file.write_bytes(encode_stand_ins(with_fetched({}, fetched.external)))
    options = PushOptions(stand_ins=load_stand_ins(file))
    packs = len(lake.put_keys)
    assert push_directory(tmp_path / "out", lake, options=options).tree.root == root
    assert [key for key in lake.put_keys[packs:] if "packs" in key] == [], "nothing of it is sent"
    (tmp_path / "out/a").write_bytes(b"SMALL")
    changed = push_directory(tmp_path / "out", lake, options=options)
    assert changed.tree.root != root
    assert load_stand_ins(tmp_path / "absent") == {}


def test_what_was_changed_outside_is_said(tmp_path: Path) -> None:
    lake, root = a_lake({b"a": b"1", b"b": b"2"})
    lost = next(iter(lake.outside))
    del lake.outside[lost]
    with pytest.raises(ChangedOutside):
        fetch_tree(lake, root, tmp_path / "out")
    assert [damage.paths for damage in verify_tree(lake, root)] == [(b"a",)]
