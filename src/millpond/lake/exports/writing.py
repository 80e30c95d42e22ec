"""Writing trees into an export: the pages and blobs that the other side lacks, each once, in the order of paths.

Memory does not grow with the tree: blobs are remembered up to a number, and one that is forgotten is written again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from millpond.blobs.store import Buffer
from millpond.errors import Corrupt
from millpond.lake.encoding import decode_blob
from millpond.lake.exports.parts import PartKind, PartWriter
from millpond.lake.locators import pack_locator
from millpond.lake.packs import PackWriter
from millpond.lake.pages import pack_page
from millpond.lake.ranges import Segment, segments
from millpond.lake.transfer import Downloader, Meter
from millpond.model.dataset import BlobPlace

# Ranges that are read ahead of what is written, of some megabytes each.
_READERS = 4
# Some 80 MB of memory.
_REMEMBERED = 250_000
# Fewer than are remembered, so that no blob is added to a pack twice.
_PACK_BLOBS = 100_000


class ExportWriter:
    """Adds pages and blobs of trees to an export. `with` ends its threads."""

    def __init__(self, parts: PartWriter, meter: Meter) -> None:
        self.meter = meter
        self._parts = parts
        self._pages: set[str] = set()
        # Leaves whose blobs are all in the file.
        self._whole_leaves: set[str] = set()
        self._places: OrderedDict[bytes, BlobPlace] = OrderedDict()
        self._packs = 0
        self._pack = PackWriter()
        self._readers = ThreadPoolExecutor(_READERS, "export-read")

    def __enter__(self) -> ExportWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._readers.shutdown(cancel_futures=True)

    def finish(self) -> str:
        """Write what is left; the digest of the whole file."""
        self._write_pack()
        return self._parts.finish()

    def has_whole(self, leaf_id: str) -> bool:
        """True if all blobs of the leaf are in the file."""
        return leaf_id in self._whole_leaves

    def write_page(self, source: Downloader, page_id: str) -> None:
        if page_id not in self._pages:
            self._pages.add(page_id)
            self._parts.write(PartKind.PAGE, bytes.fromhex(page_id), pack_page(source.page(page_id)))

    def write_blobs(self, source: Downloader, leaf_id: str, wanted: Iterable[BlobPlace], *, is_all: bool) -> None:
        """Write blobs of a leaf, unless the file has them, and a locator that says where they lie in it."""
        here: dict[bytes, BlobPlace] = {}
        absent: list[BlobPlace] = []
        for place in wanted:
            if (known := self._places.get(place.digest)) is not None:
                here[place.digest] = known
            else:
                absent.append(place)
        for segment, data in self._read_ahead(source, segments(absent)):
            for place in segment.places:
                here[place.digest] = self._add(place, _checked(source, segment, place, data))
            self.meter.add(sent=segment.end - segment.start)
        if here:
            self._parts.write(PartKind.LOCATOR, bytes.fromhex(leaf_id), pack_locator(here.values()))
        if is_all:
            self._whole_leaves.add(leaf_id)

    def _read_ahead(self, source: Downloader, wanted: Iterator[Segment]) -> Iterator[tuple[Segment, Buffer]]:
        reading: deque[tuple[Segment, Future[Buffer]]] = deque()
        for segment in wanted:
            data = self._readers.submit(source.pack_range, segment.pack_id, segment.start, segment.end)
            reading.append((segment, data))
            if len(reading) >= _READERS:
                first, came = reading.popleft()
                yield first, came.result()
        for first, came in reading:
            yield first, came.result()

    def _add(self, place: BlobPlace, stored: Buffer) -> BlobPlace:
        if not self._pack.fits(len(stored)) or len(self._pack) >= _PACK_BLOBS:
            self._write_pack()
        offset = self._pack.add_stored(place.digest, place.encoding, stored, place.raw)
        here = place._replace(pack_id=f"{self._packs:032x}", offset=offset)
        self._places[place.digest] = here
        if len(self._places) > _REMEMBERED:
            self._places.popitem(last=False)
        return here

    def _write_pack(self) -> None:
        if not len(self._pack):
            return
        with self._pack.finish() as pack:
            self._parts.write(PartKind.PACK, self._packs.to_bytes(32, "big"), pack)
        self._packs += 1
        self._pack = PackWriter(buffer=self._pack.release())


def _checked(source: Downloader, segment: Segment, place: BlobPlace, data: Buffer) -> Buffer:
    """The blob as it is stored, every byte checked; read again once if it was damaged on the way."""
    at = place.offset - segment.start
    stored: Buffer = memoryview(data)[at : at + place.stored]
    try:
        decode_blob(place.digest, place.encoding, stored, place.raw)
    except Corrupt:
        stored = source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
        decode_blob(place.digest, place.encoding, stored, place.raw)
    return stored
