from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.lake.ranges import GAP_MOST, SEGMENT_MOST, segments
from millpond.model.dataset import BlobPlace


def place(pack: int, offset: int, stored: int) -> BlobPlace:
    return BlobPlace(b"", f"{pack:032x}", offset, stored, stored, 0)


@given(st.lists(st.builds(place, st.integers(0, 2), st.integers(0, 60 << 20), st.integers(1, 4 << 20)), max_size=40))
def test_every_blob_is_covered_once(places: list[BlobPlace]) -> None:
    found = list(segments(places))
    covered = [one for segment in found for one in segment.places]
    key = lambda one: (one.pack_id, one.offset, one.stored)  # noqa: E731
    assert sorted(covered, key=key) == sorted(places, key=key)
    for segment in found:
        assert all(segment.start <= one.offset and one.offset + one.stored <= segment.end for one in segment.places)
        assert all(one.pack_id == segment.pack_id for one in segment.places)
        assert segment.end - segment.start <= SEGMENT_MOST + (4 << 20)


def test_neighbours_are_read_together_and_strangers_are_not() -> None:
    near, far = place(0, 1000 + GAP_MOST, 10), place(0, 5000 + 3 * GAP_MOST, 10)
    found = list(segments([far, place(0, 0, 1000), near, place(1, 0, 5)]))
    assert [(segment.start, segment.end, len(segment.places)) for segment in found] == [
        (0, 1010 + GAP_MOST, 2),
        (5000 + 3 * GAP_MOST, 5010 + 3 * GAP_MOST, 1),
        (0, 5, 1),
    ]
