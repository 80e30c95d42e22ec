"""The pages of a tree, read from the lake once: comparing it with others and fetching it look at the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from millpond.blobs.store import Buffer
from millpond.lake.kept import Kept
from millpond.lake.reader import PageSource
from millpond.lake.transfer import Downloader
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry

_KEPT_BYTES = 32 << 20


class KeptPages:
    """Pages that are kept once they were read, as far as they fit."""

    def __init__(self, pages: PageSource) -> None:
        self._from = pages
        self._pages = Kept[str, bytes](_KEPT_BYTES, weigh=len)

    def page(self, page_id: str) -> bytes:
        known = self._pages.get(page_id)
        if known is None:
            known = self._from.page(page_id)
            self._pages.put(page_id, known)
        return known


class KeptSource(KeptPages):
    """A Downloader that keeps the pages it has read."""

    def __init__(self, source: Downloader) -> None:
        super().__init__(source)
        self._source = source

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        return self._source.locator(page_id)

    def pack_range(self, pack_id: str, start: int, end: int) -> Buffer:
        return self._source.pack_range(pack_id, start, end)

    def pack_url(self, pack_id: str) -> str | None:
        return self._source.pack_url(pack_id)

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        return self._source.external(entry, start, end)

    def expect_external(self, entries: Iterable[Entry]) -> None:
        self._source.expect_external(entries)
