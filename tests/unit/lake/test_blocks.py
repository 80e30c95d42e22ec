"""Small blobs through a cache of blocks: few fetches, shared by readers, bounded, and never trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.lake.blocks import BLOCK_BYTES, SMALL_BLOB, Block, BlockCache, BlockReader, blocks
from millpond.model.dataset import BlobPlace

SIZE = 100_000


def place(number: int, *, pack: str = "p", size: int = SIZE) -> BlobPlace:
    return BlobPlace(b"%032d" % number, pack, number * SIZE, size, size, 0)


class Store:
    """A pack of a hundred blobs, each of its own number."""

    def __init__(self) -> None:
        self.fetched: list[tuple[int, int]] = []
        self.pack = b"".join(bytes([number]) * SIZE for number in range(100))

    def fetch(self, pack_id: str, start: int, end: int) -> bytes:
        self.fetched.append((start, end))
        return self.pack[start:end]


@pytest.fixture
def store() -> Store:
    return Store()


def a_reader(store: Store, directory: Path, most: int = 1 << 30) -> BlockReader:
    reader = BlockReader(BlockCache(directory, most), store.fetch)
    reader.note([place(number) for number in range(100)])
    return reader


def test_blocks_hold_small_neighbours_and_cut_no_blob() -> None:
    places = [place(number) for number in range(100)] + [place(0, pack="q"), place(50, pack="q", size=SMALL_BLOB + 1)]
    found = blocks(places)
    assert all(block.end - block.start <= BLOCK_BYTES for block in found)
    assert [block for block in found if block.pack_id == "q"] == [Block("q", 0, SIZE)]
    assert [block.start for block in found if block.pack_id == "p"] == [0, 41 * SIZE, 82 * SIZE]


def test_who_reads_one_file_gets_one_file_and_who_reads_many_gets_blocks(store: Store, tmp_path: Path) -> None:
    reader = a_reader(store, tmp_path)
    assert reader.stored(place(3)) is None
    assert store.fetched == []
    for number in range(4, 100):
        found = reader.stored(place(number))
        assert found is not None
        assert bytes(found) == bytes([number]) * SIZE
    assert len(store.fetched) == 3
    assert reader.stored(place(5, size=SMALL_BLOB + 1)) is None, "a large one is worth a request of its own"


def test_other_readers_share_it(store: Store, tmp_path: Path) -> None:
    first, second = a_reader(store, tmp_path), a_reader(store, tmp_path)
    for number in range(100):
        first.stored(place(number))
    fetched = len(store.fetched)
    assert all(second.stored(place(number)) is not None for number in range(100)), "from the first one on"
    assert len(store.fetched) == fetched


def test_the_directory_stays_within_its_bound(store: Store, tmp_path: Path) -> None:
    most = 2 * BLOCK_BYTES
    reader = a_reader(store, tmp_path, most)
    for _ in range(3):
        for number in range(100):
            reader.stored(place(number))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= most


def test_a_damaged_block_is_dropped_and_a_directory_that_cannot_be_written_is_no_error(
    store: Store, tmp_path: Path
) -> None:
    reader = a_reader(store, tmp_path / "cache")
    for number in range(10):
        reader.stored(place(number))
    reader.drop(place(1))
    assert not [path for path in (tmp_path / "cache").iterdir() if path.name.startswith("p-")]
    assert bytes(reader.stored(place(1)) or b"") == bytes([1]) * SIZE
    (tmp_path / "file").write_text("in the way")
    blocked = a_reader(store, tmp_path / "file")
    blocked.stored(place(1))
    assert bytes(blocked.stored(place(2)) or b"") == bytes([2]) * SIZE
