"""Which ranges of which packs to read for a set of blobs: few and long, with little between that nobody wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from millpond.model.dataset import BlobPlace

# Bytes read in vain are cheaper than another request, up to about here.
GAP_MOST = 256 << 10
# Bounds memory where a range is read whole, through a proxy say; others are written as they come.
SEGMENT_MOST = 16 << 20
_WHERE = attrgetter("pack_id", "offset")


@dataclass(frozen=True, slots=True)
class Segment:
    """One range of one pack, and the blobs in it in the order of their offsets."""

    pack_id: str
    start: int
    end: int
    places: list[BlobPlace]


def segments(places: Iterable[BlobPlace]) -> Iterator[Segment]:
    """Cover all `places`; a blob is never cut."""
    pending: list[BlobPlace] = []
    pack, start, end = "", 0, 0
    for place in sorted(places, key=_WHERE):
        _, pack_id, offset, stored, _, _ = place
        place_end = offset + stored
        if pack_id == pack and offset - end <= GAP_MOST and place_end - start <= SEGMENT_MOST:
            pending.append(place)
            end = max(end, place_end)
            continue
        if pending:
            yield Segment(pack, start, end, pending)
        pending, pack, start, end = [place], pack_id, offset, place_end
    if pending:
        yield Segment(pack, start, end, pending)
