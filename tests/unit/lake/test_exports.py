"""An export is read back bit for bit, holds what the other side lacks, and is refused unless it is whole."""

from __future__ import annotations

import json
import os
import tempfile
from io import BytesIO
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings

from millpond.errors import BadFormat, Corrupt, MillError, NotFound
from millpond.lake.exports.manifest import Have, Side, decode_have, encode_have
from millpond.lake.exports.parts import FIRST_LINE, NO_NAME, PartKind, PartWriter, check_parts
from millpond.lake.exports.reading import ExportFile
from millpond.lake.fetch import fetch_tree
from millpond.lake.packs import read_index
from millpond.lake.pages import pack_page
from millpond.testing.lake import Thing, read_things, things
from tests.unit.lake.export_files import Exporter

THINGS = [
    Thing(b"a/b/c.txt", b"text"),
    Thing(b"empty"),
    Thing(b"large", os.urandom(3_000_000)),
    Thing(b"link", b"a/b/c.txt", link=True),
    Thing(b"run.sh", b"#!/bin/sh\n", executable=True),
]


def contents(path: Path) -> int:
    """Bytes of content that the blobs of a file open to."""
    with ExportFile(path) as file:
        packs = {pack_id: file.pack(pack_id) for pack_id in file.pack_ids}
    places = [
        place
        for pack_id, pack in packs.items()
        for place in read_index(pack_id, len(pack), lambda start, end, pack=pack: pack[start:end])
    ]
    assert len({place.digest for place in places}) == len(places)
    return sum(place.raw for place in places)


@settings(max_examples=15)
@given(things(), things())
def test_every_commit_is_read_back(first: list[Thing], second: list[Thing]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        exporter = Exporter(root)
        commits = [exporter.commit(first), exporter.commit(second)]
        with ExportFile(exporter.export(*commits)) as file:
            for number, commit in enumerate(commits):
                fetch_tree(file, commit.tree, root / f"made-{number}")
                assert read_things(root / f"made-{number}") == read_things(root / f"source-{number}")
            assert file.ancestors(commits[1].id) == {commits[0].id}


def test_a_server_gets_only_blobs_and_pages_that_it_lacks(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path)
    large = os.urandom(5_000_000)
    before = exporter.commit([Thing(b"large", large), Thing(b"old/name", b"moved" * 100), Thing(b"x", b"x" * 5000)])
    after = exporter.commit(
        [Thing(b"large", large + b"a few more"), Thing(b"new/name", b"moved" * 100), Thing(b"x", b"x" * 5000)]
    )
    path = exporter.export(after, base=before, side=Side.SERVER)
    assert 0 < contents(path) < 3_000_000  # the last chunk and the chunk list of the large file
    assert contents(exporter.export(before, base=before, side=Side.SERVER)) == 0


def test_a_volume_gets_every_page_and_whole_files(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path)
    before = exporter.commit([Thing(b"a", b"a" * 1000), Thing(b"b", b"b" * 1000)])
    after = exporter.commit([Thing(b"a", b"a" * 1000), Thing(b"b", b"c" * 2000), Thing(b"copy", b"a" * 1000)])
    path = exporter.export(after, base=before, side=Side.VOLUME)
    assert contents(path) == 2000 + 1000
    with ExportFile(path) as file:
        assert set(file.page_ids(before.tree)) and set(file.page_ids(after.tree))


@pytest.mark.parametrize("side", [Side.SERVER, Side.VOLUME])
def test_differences_are_found_across_many_pages(tmp_path: Path, side: Side) -> None:
    exporter = Exporter(tmp_path)
    names = [f"{n % 40:02d}/{n:05d}" for n in range(4000)]
    before = exporter.commit([Thing(name.encode(), name.encode()) for name in names])
    kept = [name for name in names if not name.endswith("777")]
    after = exporter.commit(
        [Thing(name.encode(), b"new " + name.encode() if name.endswith("500") else name.encode()) for name in kept]
        + [Thing(b"zz/added", b"added")]
    )
    with (
        ExportFile(exporter.export(before, name="before.mill")) as whole,
        ExportFile(exporter.export(after, base=before, side=side)) as file,
    ):
        places = {digest: place for leaf in file.page_ids(after.tree) for digest, place in file.locator(leaf).items()}
        assert sorted(place.raw for place in places.values()) == sorted([5, *[12] * 4])
        assert len(list(whole.page_ids(before.tree))) > 3
        if side is Side.VOLUME:
            assert set(file.page_ids(before.tree)) == set(whole.page_ids(before.tree))
        else:
            assert not set(file.page_ids(after.tree)) & set(whole.page_ids(before.tree))


def test_one_bit_anywhere_is_noticed(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path)
    path = exporter.export(exporter.commit(THINGS[:2] + THINGS[3:]))
    whole = path.read_bytes()
    for at in range(len(whole)):
        altered = bytearray(whole)
        altered[at] ^= 1 << at % 8
        with pytest.raises((Corrupt, BadFormat)):
            check_parts(BytesIO(altered), "x.mill")


def test_a_file_that_is_cut_off_or_longer_is_refused(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path)
    path = exporter.export(exporter.commit(THINGS[:1]))
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(Corrupt, match="damaged at byte"):
            ExportFile(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(Corrupt, match="something was added"):
        ExportFile(path)


def test_parts_that_were_left_out_are_noticed(tmp_path: Path) -> None:
    """Each part alone is as it was: the digest of the whole tells."""
    exporter = Exporter(tmp_path)
    path = exporter.export(exporter.commit(THINGS[:1]))
    whole = path.read_bytes()
    first = len(FIRST_LINE)
    length = int.from_bytes(whole[first + 8 : first + 16], "little")
    path.write_bytes(whole[:first] + whole[first + 48 + length + 32 :])
    with pytest.raises(Corrupt, match="parts are missing"):
        ExportFile(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not an export"),
        (b"PK\3\4 a zip file", "not an export"),
        (b"millpond.export/2\nwhatever comes", r"another version \(millpond.export/2\)"),
        (b"millpond.have/1\n", "not an export"),
    ],
)
def test_what_is_no_export_is_said(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.mill").write_bytes(content)
    with pytest.raises(BadFormat, match=words):
        ExportFile(tmp_path / "x.mill")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        ExportFile(tmp_path / "x.mill")


@pytest.mark.parametrize(
    "change",
    [
        {"project_id": "../../etc"},
        {"dataset_id": "a/b"},
        {"id": "../x"},
        {"tree": 7},
        {"bytes": -1},
        {"branch": "../main"},
        {"unknown": "field"},
    ],
)
def test_a_manifest_with_hostile_names_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    exporter = Exporter(tmp_path)
    with ExportFile(exporter.export(exporter.commit(THINGS[:1]))) as file:
        commit = file.manifest.commits[0]
    named = {name: getattr(commit, name) for name in commit.__slots__}
    document = {"schema": "millpond.export/1", "lake": "l", "bases": [], "side": None, "commits": [{**named, **change}]}
    with open(tmp_path / "y.mill", "wb") as written:
        parts = PartWriter(written)
        parts.write(PartKind.MANIFEST, NO_NAME, json.dumps(document).encode())
        parts.finish()
    with pytest.raises(BadFormat, match="manifest"):
        ExportFile(tmp_path / "y.mill")


def test_a_tree_with_hostile_paths_makes_nothing(tmp_path: Path) -> None:
    """Whoever makes a file can make its checksums, too: what pages say is checked when they are read."""
    exporter = Exporter(tmp_path)
    exporter.commit([Thing(b"aa/outside", b"text")])
    leaf = exporter.lake.page(exporter.commits[0].tree).replace(b"aa/outside", b"../outside")
    page_id = blake3(leaf).hexdigest()
    with open(tmp_path / "y.mill", "wb") as written, ExportFile(exporter.export(exporter.commits[0])) as good:
        parts = PartWriter(written)
        parts.write(PartKind.MANIFEST, NO_NAME, good._document(PartKind.MANIFEST))
        parts.write(PartKind.PAGE, bytes.fromhex(page_id), pack_page(leaf))
        parts.finish()
    with ExportFile(tmp_path / "y.mill") as file, pytest.raises(MillError, match="path"):
        fetch_tree(file, page_id, tmp_path / "made" / "tree")
    assert not (tmp_path / "made" / "outside").exists()


def test_what_a_site_has_is_read_back_and_refused_when_wrong() -> None:
    have = Have(Side.VOLUME, {"xray1": ["a" * 64]})
    assert decode_have(encode_have(have), "have.json") == have
    assert have.of("xray1") == {"a" * 64} and have.of("other") == set()
    for wrong in (b"", b"[]", b'{"schema": "millpond.have/2"}', encode_have(Have(Side.SERVER, {"d": ["nothing"]}))):
        with pytest.raises(BadFormat, match=r"have\.json"):
            decode_have(wrong, "have.json")


def test_the_same_commit_makes_the_same_file(tmp_path: Path) -> None:
    exporter = Exporter(tmp_path)
    commit = exporter.commit(THINGS)
    assert exporter.export(commit).read_bytes() == exporter.export(commit, name="again.mill").read_bytes()
