"""A reader of the lake that keeps to a limit. Packs that are read over their URLs are minded by whoever reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from millpond.blobs.store import Buffer
from millpond.lake.throttle import Throttle
from millpond.lake.transfer import Downloader
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry

# A locator says of each blob where it lies, in about so many bytes.
_PLACE_BYTES = 60


class ThrottledSource:
    """Pages and locators are paid for after they came: how large they are is not known before."""

    def __init__(self, source: Downloader, throttle: Throttle) -> None:
        self._source = source
        self._throttle = throttle

    def page(self, page_id: str) -> bytes:
        found = self._source.page(page_id)
        self._throttle.take(len(found))
        return found

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        found = self._source.locator(page_id)
        self._throttle.take(_PLACE_BYTES * len(found))
        return found

    def pack_range(self, pack_id: str, start: int, end: int) -> Buffer:
        self._throttle.take(end - start)
        return self._source.pack_range(pack_id, start, end)

    def pack_url(self, pack_id: str) -> str | None:
        return self._source.pack_url(pack_id)

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        self._source.note_read(pack_id, url, size)

    def given(self) -> Mapping[str, int]:
        return self._source.given()

    def distrust(self, pack_id: str) -> bool:
        return self._source.distrust(pack_id)

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        for part in self._source.external(entry, start, end):
            self._throttle.take(len(part))
            yield part

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        self._source.expect_leaves(page_ids)

    def expect_external(self, entries: Iterable[Entry]) -> None:
        self._source.expect_external(entries)
