"""Which ranges of which packs to read for a set of blobs: few and long, with little between that nobody wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millpond.model.dataset import BlobPlace

# Bytes read in vain are cheaper than another request, up to about here.
GAP_MOST = 256 << 10
# Bounds memory: each thread holds one segment at a time.
SEGMENT_MOST = 16 << 20


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
    end = 0
    for place in sorted(places, key=lambda place: (place.pack_id, place.offset)):
        if pending and not _joins(pending[0], end, place):
            yield Segment(pending[0].pack_id, pending[0].offset, end, pending)
            pending = []
        pending.append(place)
        end = max(end, place.offset + place.stored) if len(pending) > 1 else place.offset + place.stored
    if pending:
        yield Segment(pending[0].pack_id, pending[0].offset, end, pending)


def _joins(first: BlobPlace, end: int, place: BlobPlace) -> bool:
    return (
        place.pack_id == first.pack_id
        and place.offset - end <= GAP_MOST
        and place.offset + place.stored - first.offset <= SEGMENT_MOST
    )
