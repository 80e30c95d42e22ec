"""A lake whose pages are read once: comparing a tree with others and fetching it look at the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from millpond.blobs.store import Buffer
from millpond.lake.lru import Kept
from millpond.lake.pages import IndexPage, Page
from millpond.lake.reader import KeptPages
from millpond.lake.transfer import Downloader
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry


class KeptSource(KeptPages):
    """A Downloader that keeps the pages it has read."""

    def __init__(self, source: Downloader, kept: Kept[str, Page]) -> None:
        super().__init__(source, kept)
        self._source = source

    def decoded(self, page_id: str) -> Page:
        page = super().decoded(page_id)
        if isinstance(page, IndexPage) and page.level == 1:
            self._source.expect_leaves(page.ids)
        return page

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        return self._source.locator(page_id)

    def pack_range(self, pack_id: str, start: int, end: int) -> Buffer:
        return self._source.pack_range(pack_id, start, end)

    def pack_url(self, pack_id: str) -> str | None:
        return self._source.pack_url(pack_id)

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        self._source.note_read(pack_id, url, size)

    def given(self) -> Mapping[str, int]:
        return self._source.given()

    def distrust(self, pack_id: str) -> bool:
        return self._source.distrust(pack_id)

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        self._source.expect_leaves(page_ids)

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        return self._source.external(entry, start, end)

    def expect_external(self, entries: Iterable[Entry]) -> None:
        self._source.expect_external(entries)
