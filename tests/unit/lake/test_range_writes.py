"""Orders: every use of every blob stands in exactly one of them, and none has too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, Corrupt
from millpond.lake import range_writes
from millpond.lake.chunks import CHUNK_MOST
from millpond.lake.digests import digest_of
from millpond.lake.range_writes import Order, Use, order_of, orders, pieces, write_range
from millpond.lake.ranges import Segment
from millpond.lake.target import Target
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Kind

CONTENT = b"the same everywhere"


def place(content: bytes, offset: int) -> BlobPlace:
    return BlobPlace(digest_of(content), "p", offset, len(content), len(content), 0)


def order(path: bytes, content: bytes, kind: Kind, size: int | None = None) -> Order:
    uses: list[Use] = [(path, kind, len(content) if size is None else size, None)]
    return order_of("p", [place(content, 100)], [uses])


def no_reading(start: int, end: int) -> bytes:
    raise AssertionError(f"{start} to {end} were read again")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_hole_stays_one_but_not_in_a_cache(tmp_path: Path, read_only: bool) -> None:
    zeros = bytes(CHUNK_MOST)
    uses: list[Use] = [(b"disk", Kind.FILE, 2 * CHUNK_MOST, 0), (b"disk", Kind.FILE, 2 * CHUNK_MOST, CHUNK_MOST)]
    with Target(tmp_path / "target", read_only=read_only) as into:
        into.begin_file(b"disk", 2 * CHUNK_MOST)
        write_range(order_of("p", [place(zeros, 100)], [uses]), zeros, no_reading, into)
        into.end_file(b"disk", Kind.FILE)
    written = tmp_path / "target/disk"
    assert written.read_bytes() == 2 * zeros
    assert (written.stat().st_blocks * 512 >= 2 * CHUNK_MOST) is read_only


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20))
def test_many_uses_are_shared_by_orders(counts: list[int]) -> None:
    places = [place(b"%05d" % number, number * 5) for number in range(len(counts))]
    uses: dict[bytes, list[Use]] = {
        blob.digest: [(b"%d-%d" % (number, use), Kind.FILE, 5, None) for use in range(counts[number])]
        for number, blob in enumerate(places)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_writes, "USES_MOST", 5)
        made = list(orders(Segment("p", 0, 5 * len(counts), places), uses))
    assert all(1 <= sum(map(len, one.uses)) <= 5 for one in made)
    given_out = [
        (digest, use) for one in made for digest, some in zip(one.digests, one.uses, strict=True) for use in some
    ]
    assert sorted(given_out) == sorted((digest, use) for digest, some in uses.items() for use in some)
    for one in made:
        assert one.start == one.offsets[0]
        assert one.end == one.offsets[-1] + one.stored[-1]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=20), st.integers(1, 20))
def test_pieces_are_the_whole_order(blobs: list[tuple[int, int]], most: int) -> None:
    places: list[BlobPlace] = []
    offset = 7
    for number, (length, gap) in enumerate(blobs):
        places.append(BlobPlace(digest_of(b"%d" % number), "p", offset, length, length, 0))
        offset += length + gap
    whole = order_of("p", places, [[(b"%d" % number, Kind.FILE, 1, None)] for number in range(len(blobs))])
    parts = list(pieces(whole, lambda: most))
    assert list(pieces(whole, lambda: None)) == [whole]
    for column in ("digests", "offsets", "stored", "raw", "encodings", "uses"):
        assert [one for part in parts for one in getattr(part, column)] == list(getattr(whole, column))
    for part in parts:
        assert part.start == part.offsets[0]
        assert part.end == part.offsets[-1] + part.stored[-1]
        assert part.end - part.start <= most or len(part.digests) == 1


def test_a_damaged_blob_is_read_again(tmp_path: Path) -> None:
    one = order(b"file", CONTENT, Kind.FILE)
    with Target(tmp_path / "t", read_only=False) as into:
        write_range(one, b"?" * len(CONTENT), lambda start, end: CONTENT, into)
    assert (tmp_path / "t" / "file").read_bytes() == CONTENT


def test_what_the_store_holds_decides(tmp_path: Path) -> None:
    wrong = b"?" * len(CONTENT)
    with Target(tmp_path / "t", read_only=False) as into, pytest.raises(Corrupt):
        write_range(order(b"file", CONTENT, Kind.FILE), wrong, lambda start, end: wrong, into)
    assert not (tmp_path / "t" / "file").exists()


def test_another_size_than_the_tree_says(tmp_path: Path) -> None:
    with Target(tmp_path / "t", read_only=False) as into, pytest.raises(Corrupt):
        write_range(order(b"file", CONTENT, Kind.FILE, size=3), CONTENT, no_reading, into)


def test_a_link_that_no_file_system_can_hold(tmp_path: Path) -> None:
    with Target(tmp_path / "t", read_only=False) as into, pytest.raises(BadFormat):
        write_range(order(b"link", b"a\0b", Kind.SYMLINK), b"a\0b", no_reading, into)


def test_a_link_with_a_zero_byte_is_told_as_what_it_is(tmp_path: Path) -> None:
    """Anybody who commits may send such bytes; no call of the system takes them."""
    with Target(tmp_path, read_only=False) as into, pytest.raises(Corrupt, match="'bad' is an invalid link"):
        into.write_link(b"bad", b"a\0b")
