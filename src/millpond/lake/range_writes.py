"""What one range of a pack is needed for: every blob in it is checked, then written wherever it belongs.

Orders are plain tuples and columns, because they go to other processes by the ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt
from millpond.lake.digests import digest_of
from millpond.lake.encoding import decode_blob
from millpond.lake.ranges import Segment
from millpond.lake.target import Target
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Kind

# Files written by one order. One blob may be the content of a hundred thousand: then several orders share them.
USES_MOST = 4096

# The chunks that a hole of a sparse file is cut into: the longest there are. What cuts is not loaded to write.
HOLE_BYTES = 4 << 20

# Bytes `start` to `end` (not included) of the order's pack.
ReadRange = Callable[[int, int], Buffer]
# Path, kind and size of a file or link of this content; and for a part of a file that is there already, its offset.
Use = tuple[bytes, int, int, int | None]


class Order(NamedTuple):
    """One range of one pack and the blobs in it, in columns, in the order of their offsets."""

    pack_id: str
    start: int
    end: int
    digests: Sequence[bytes]
    offsets: Sequence[int]
    stored: Sequence[int]
    raw: Sequence[int]
    encodings: Sequence[int]
    uses: Sequence[Sequence[Use]]


def orders(segment: Segment, uses: Mapping[bytes, Sequence[Use]]) -> Iterator[Order]:
    """Orders for all that a range is needed for; one, if that is not too much."""
    places: list[BlobPlace] = []
    shares: list[Sequence[Use]] = []
    room = USES_MOST
    for place in segment.places:
        wanted = uses[place.digest]
        if len(wanted) <= room:
            places.append(place)
            shares.append(wanted)
            room -= len(wanted)
            continue
        if places:
            yield order_of(segment.pack_id, places, shares)
        left = iter(wanted)
        while len(share := list(islice(left, USES_MOST))) == USES_MOST:
            yield order_of(segment.pack_id, [place], [share])
        places, shares, room = ([place], [share], USES_MOST - len(share)) if share else ([], [], USES_MOST)
    if places:
        yield order_of(segment.pack_id, places, shares)


def order_of(pack_id: str, places: Sequence[BlobPlace], uses: Sequence[Sequence[Use]]) -> Order:
    digests, _, offsets, stored, raw, encodings = zip(*places, strict=True)
    end = max(offset + length for offset, length in zip(offsets, stored, strict=True))
    return Order(pack_id, offsets[0], end, digests, offsets, stored, raw, encodings, uses)


def pieces(order: Order, most: Callable[[], int | None]) -> Iterator[Order]:
    """The order in parts of at most so many bytes each (None: any), asked before each part; a blob is never cut."""
    first, start, room = 0, order.start, most()
    for number, (offset, stored) in enumerate(zip(order.offsets, order.stored, strict=True)):
        if room is not None and offset + stored - start > room and number > first:
            yield part_of(order, first, number)
            first, start, room = number, offset, most()
    yield part_of(order, first, len(order.digests))


def part_of(order: Order, first: int, last: int) -> Order:
    """What the order says about some of its blobs."""
    if first == 0 and last == len(order.digests):
        return order
    offsets, stored = order.offsets[first:last], order.stored[first:last]
    end = max(offset + length for offset, length in zip(offsets, stored, strict=True))
    columns = (order.raw[first:last], order.encodings[first:last], order.uses[first:last])
    return Order(order.pack_id, offsets[0], end, order.digests[first:last], offsets, stored, *columns)


def write_range(order: Order, data: Buffer, read: ReadRange, into: Target) -> int:
    """Write what `data`, the order's range, is needed for; for how many of its blobs.

    It ends at one of which the store holds other bytes than the tree names: Corrupt if that is the first.
    `read` is for blobs that were damaged on the way: what the store holds decides.
    A file that is written in parts has zeros where nothing is written, so chunks of zeros are left out; but not in a
    cache, whose room is counted as if it held all its bytes.
    """
    checked = contents(order, data, read)
    for number, (digest, uses) in enumerate(zip(order.digests, order.uses, strict=True)):
        try:
            content = next(checked)
        except Corrupt:
            if number:
                return number
            raise
        length = len(content)
        is_hole = length == HOLE_BYTES and digest == _zeros() and not into.read_only
        for path, kind, size, offset in uses:
            if offset is not None:
                if not is_hole:
                    into.write_part(path, offset, content)
            elif length != size:
                raise Corrupt(f"{to_text(path)!r} has another size than the tree says.")
            elif kind == Kind.SYMLINK:
                into.write_link(path, _link_target(path, content))
            else:
                into.write_file(path, kind, content)
    return len(order.digests)


def contents(order: Order, data: Buffer, read: ReadRange) -> Iterator[Buffer]:
    """The content of each blob, checked, which is valid until the next one is asked for."""
    view = memoryview(data)
    start = order.start
    if len(view) != order.end - start:
        raise Corrupt(f"Pack {order.pack_id} is shorter than its locators say.")
    columns = zip(order.digests, order.encodings, order.offsets, order.stored, order.raw, strict=True)
    for digest, encoding, offset, stored, raw in columns:
        at = offset - start
        try:
            yield decode_blob(digest, encoding, view[at : at + stored], raw)
        except Corrupt:
            yield decode_blob(digest, encoding, read(offset, offset + stored), raw)


@cache
def _zeros() -> bytes:
    """The digest of the chunks that a hole of a sparse file is cut into."""
    return digest_of(bytes(HOLE_BYTES))


def _link_target(path: bytes, content: Buffer) -> bytes:
    target = bytes(content)
    if b"\0" in target:
        raise BadFormat(f"The link {to_text(path)!r} has a target that no file system can hold.")
    return target
