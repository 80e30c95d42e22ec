"""Reading a tree: iterate, look at one path, without reading more pages than it takes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from millpond.errors import BadFormat
from millpond.lake.lru import Kept
from millpond.lake.pages import IndexPage, LeafPage, Page, PageRef, decode_page
from millpond.model.tree import Entry, Kind

_KEPT_PAGES = 64
# What an entry takes in memory: its path and digest, and the objects around them.
_ENTRY_BYTES = 200
_ROOM_BYTES = 32 << 20


class PageSource(Protocol):
    def page(self, page_id: str) -> bytes:
        """The canonical bytes of a page, checked against its id. NotFound, Corrupt, or the store's errors."""
        ...


class KeptPages:
    """A PageSource that keeps pages once they were read, decoded, for all who read trees from it and in any thread."""

    def __init__(self, pages: PageSource, kept: Kept[str, Page]) -> None:
        self._from = pages
        self._kept = kept

    def page(self, page_id: str) -> bytes:
        return self._from.page(page_id)

    def beside(self, pages: PageSource) -> KeptPages:
        """What is read elsewhere, kept in the same room."""
        return KeptPages(pages, self._kept)

    def decoded(self, page_id: str) -> Page:
        known = self._kept.get(page_id)
        if known is None:
            known = decode_page(self._from.page(page_id))
            self._kept.put(page_id, known)
        return known


def room_for_pages() -> Kept[str, Page]:
    """For those of some 150,000 files. It may be shared: a page is named by its content."""
    return Kept(_ROOM_BYTES, weigh=_weigh)


def _weigh(page: Page) -> int:
    return 256 + _ENTRY_BYTES * len(page)


class TreeReader:
    """Reads one tree. Keeps a few decoded pages, so it belongs to one thread."""

    def __init__(self, source: PageSource, root: str) -> None:
        self.root = root
        self._decoded = source.decoded if isinstance(source, KeptPages) else lambda page: decode_page(source.page(page))
        self._kept: OrderedDict[str, Page] = OrderedDict()

    def page(self, page_id: str) -> Page:
        kept = self._kept.get(page_id)
        if kept is not None:
            self._kept.move_to_end(page_id)
            return kept
        page = self._kept[page_id] = self._decoded(page_id)
        if len(self._kept) > _KEPT_PAGES:
            self._kept.popitem(last=False)
        return page

    def root_ref(self) -> PageRef:
        """The root with its counts."""
        return self.page(self.root).ref(self.root)

    def leaf(self, page_id: str) -> LeafPage:
        return _as_leaf(self.page(page_id))

    def children(self, ref: PageRef) -> list[PageRef]:
        """The pages below an index page; BadFormat unless they are one level below it."""
        return self.index(ref).children()

    def leaves(self, low: bytes = b"", high: bytes | None = None) -> Iterator[PageRef]:
        """The leaves that may hold paths from `low` to `high` (not included), in order."""
        return self._leaves(self.root_ref(), low, high)

    def entries(self, directory: bytes = b"", after: bytes | None = None) -> Iterator[Entry]:
        """Every entry below `directory` (all of them by default), beginning behind the path `after`."""
        low, high = range_of(directory)
        return self._between(low if after is None else max(low, after + b"\0"), high)

    def beginning_with(self, prefix: bytes) -> Iterator[Entry]:
        """Every entry whose path begins with these bytes."""
        kept = prefix.rstrip(b"\xff")
        return self._between(prefix, kept[:-1] + bytes([kept[-1] + 1]) if kept else None)

    def stat(self, path: bytes) -> Entry | None:
        """The entry at exactly this path. A directory that holds something has no entry."""
        entry = self._first_from(path)
        return entry if entry is not None and entry.path == path else None

    def is_directory(self, path: bytes) -> bool:
        if not path or self.holds(path):
            return True
        entry = self.stat(path)
        return entry is not None and entry.kind == Kind.DIRECTORY

    def holds(self, directory: bytes) -> bool:
        """Whether anything lies below this path."""
        low, high = range_of(directory)
        below = self._first_from(low)
        return below is not None and (high is None or below.path < high)

    def _between(self, low: bytes, high: bytes | None) -> Iterator[Entry]:
        for ref in self.leaves(low, high):
            leaf = self.leaf(ref.id)
            end = len(leaf) if high is None else bisect_left(leaf.paths, high)
            yield from leaf.entries(bisect_left(leaf.paths, low), end)

    def _first_from(self, low: bytes) -> Entry | None:
        """The first entry whose path is not before `low`."""
        place: bytes | None = low
        while place is not None:
            page, upper = self._leaf_at(place)
            number = bisect_left(page.paths, low)
            if number < len(page):
                return page.entry(number)
            place = upper
        return None

    def leaf_of(self, path: bytes) -> str:
        """The id of the leaf that holds `path` if any does: its locator says where the content lies."""
        page_id = self.root
        page = self.page(page_id)
        while isinstance(page, IndexPage):
            page_id = page.ids[max(bisect_right(page.paths, path) - 1, 0)]
            page = self.page(page_id)
        return page_id

    def _leaf_at(self, path: bytes) -> tuple[LeafPage, bytes | None]:
        """The leaf whose range holds `path`, and the first path of the leaf behind it."""
        page, upper = self.page(self.root), None
        while isinstance(page, IndexPage):
            number = max(bisect_right(page.paths, path) - 1, 0)
            if number + 1 < len(page):
                upper = page.paths[number + 1]
            page = self.page(page.ids[number])
        return page, upper

    def _leaves(self, ref: PageRef, low: bytes, high: bytes | None) -> Iterator[PageRef]:
        if ref.level == 0:
            yield ref
            return
        page = self.index(ref)
        start = max(bisect_right(page.paths, low) - 1, 0)
        end = len(page) if high is None else max(bisect_left(page.paths, high), start)
        for number in range(start, end):
            yield from self._leaves(page.child(number), low, high)

    def index(self, ref: PageRef) -> IndexPage:
        """An index page; BadFormat unless it has the level that its parent says."""
        page = self.page(ref.id)
        if not isinstance(page, IndexPage) or page.level != ref.level:
            raise BadFormat(f"Page {ref.id[:12]} does not have the level that its parent says.")
        return page


def range_of(directory: bytes) -> tuple[bytes, bytes | None]:
    """All paths below `directory` are from the first (included) to the second (not included; None: no end)."""
    return (directory + b"/", directory + b"0") if directory else (b"", None)


def _as_leaf(page: Page) -> LeafPage:
    if not isinstance(page, LeafPage):
        raise BadFormat("An index page stands where a leaf should be.")
    return page
