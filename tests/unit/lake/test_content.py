"""Reading files in place: the right bytes, few requests, nothing unchecked."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from millpond.errors import BadPath, BadRequest, Corrupt, NotFound
from millpond.lake.content import ContentReader
from millpond.lake.lru import Kept
from millpond.lake.push import push_directory
from millpond.testing.lake import DirectLake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "data"
    (root / "sub/deep").mkdir(parents=True)
    (root / "empty-directory").mkdir()
    (root / "small").write_bytes(b"hello world")
    (root / "empty").write_bytes(b"")
    (root / "big").write_bytes(random.Random(1).randbytes(9_000_000))
    (root / "sub/deep/text").write_text("deep " * 1000)
    (root / "link").symlink_to("sub/deep/text")
    (root / "sub/up").symlink_to("../small")
    (root / "directory-link").symlink_to("sub")
    (root / "outside").symlink_to("../../etc/passwd")
    (root / "absolute").symlink_to("/etc/passwd")
    (root / "round").symlink_to("round")
    return root


@pytest.fixture
def lake(folder: Path) -> DirectLake:
    return DirectLake()


@pytest.fixture
def reader(lake: DirectLake, folder: Path) -> ContentReader:
    root = push_directory(folder, lake).tree.root
    lake.accept(root)
    lake.ranges.clear()
    return ContentReader(lake, root)


def read(reader: ContentReader, path: bytes, start: int = 0, end: int = 1 << 40) -> bytes:
    return reader.read(reader.open(path), start, end)


def test_every_range_of_every_file(reader: ContentReader, folder: Path) -> None:
    choose = random.Random(2)
    for name in ("small", "empty", "big", "sub/deep/text"):
        content = (folder / name).read_bytes()
        assert read(reader, name.encode()) == content
        for _ in range(30):
            start, end = sorted(choose.randrange(len(content) + 100) for _ in range(2))
            assert read(reader, name.encode(), start, end) == content[start:end]


def test_a_range_fetches_only_the_blobs_it_touches(reader: ContentReader, lake: DirectLake) -> None:
    read(reader, b"big", 5_000_000, 5_000_010)
    chunk_list, chunk = lake.ranges
    assert chunk_list[2] - chunk_list[1] < 1000
    assert chunk[2] - chunk[1] <= 4 << 20
    read(reader, b"big", 5_000_003, 5_000_005)
    assert len(lake.ranges) == 2, "the chunk is still in memory"


def test_many_small_files_take_few_requests(lake: DirectLake, tmp_path: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    for number in range(500):
        (root / f"{number:03}").write_bytes(os.urandom(200))
    tree = push_directory(root, lake).tree.root
    lake.accept(tree)
    lake.ranges.clear()
    reader = ContentReader(lake, tree)
    names = [f"{number:03}" for number in range(500)]
    found = reader.read_many([(reader.open(name.encode()), 0, 1000) for name in names])
    assert found == [(root / name).read_bytes() for name in names]
    assert len(lake.ranges) <= 2


def test_links_are_followed_inside_the_tree_only(reader: ContentReader) -> None:
    assert read(reader, b"link") == b"deep " * 1000
    assert read(reader, b"sub/up") == b"hello world"
    assert read(reader, b"directory-link/up") == b"hello world"
    assert read(reader, b"directory-link/deep/text", 0, 4) == b"deep"
    for outside in (b"outside", b"absolute"):
        with pytest.raises(NotFound):
            reader.open(outside)
    with pytest.raises(BadPath, match="too many links"):
        reader.open(b"round")


def test_what_is_no_file(reader: ContentReader) -> None:
    for directory in (b"sub", b"empty-directory"):
        with pytest.raises(BadRequest, match="is a directory"):
            reader.open(directory)
    with pytest.raises(NotFound):
        reader.open(b"small/below")


def test_paths_that_begin_alike(reader: ContentReader) -> None:
    assert [entry.path for entry in reader.beginning_with(b"s")] == [b"small", b"sub/deep/text", b"sub/up"]
    assert [entry.path for entry in reader.beginning_with(b"sub/d")] == [b"sub/deep/text"]
    assert len(list(reader.beginning_with(b""))) == 11
    assert list(reader.beginning_with(b"\xff\xff")) == []


class Damaged(DirectLake):
    """Answers with other bytes than are stored, `times` times."""

    times = 0

    def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
        data = bytes(super().pack_range(pack_id, start, end))
        self.times -= 1
        return data[:-1] + bytes([data[-1] ^ 1]) if self.times >= 0 else data


def test_damaged_bytes_are_read_again_and_never_delivered(folder: Path) -> None:
    lake = Damaged()
    root = push_directory(folder, lake).tree.root
    lake.accept(root)
    reader = ContentReader(lake, root)
    content = reader.open(b"small")
    lake.times = 1
    assert reader.read(content, 0, 5) == b"hello"
    lake.times = 1000
    with pytest.raises(Corrupt):
        read(reader, b"sub/deep/text")


def test_what_is_kept_stays_within_its_bound() -> None:
    kept = Kept[str, bytes](10, weigh=len)
    kept.put("a", b"12345")
    kept.put("b", b"12345")
    assert kept.get("a") == b"12345"
    kept.put("c", b"123")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (b"12345", None, b"123")
    kept.put("d", b"12345678901")
    assert kept.get("d") is None
    assert kept.get("a") == b"12345"
