"""One directory of a tree: its entries, and its directories with how much lies below them.

Index pages count what lies below a directory that goes over whole pages. Of the leaves only those are looked at in
which one line of the list ends and another begins, and of most of them only what they hold by directory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from millpond.errors import NotFound
from millpond.lake.folders import LeafFolders
from millpond.lake.pages import IndexPage, LeafPage, PageRef
from millpond.lake.reader import TreeReader, range_of
from millpond.model.path import to_text
from millpond.model.tree import Entry, Kind

# What the leaves with these ids hold. Asked for several at once, so that they may be read side by side.
Folders = Callable[[Sequence[str]], Sequence[LeafFolders]]
_AHEAD_MOST = 128


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a directory: an entry, or a directory with the entries and bytes below it."""

    name: bytes
    entry: Entry | None
    entries: int
    size: int

    @property
    def is_directory(self) -> bool:
        return self.entry is None or self.entry.kind == Kind.DIRECTORY


@dataclass(frozen=True, slots=True)
class Listing:
    """One part of a directory; `next` is where the following part begins, None at the end."""

    items: list[Listed]
    next: bytes | None


def list_directory(
    reader: TreeReader, directory: bytes = b"", start: bytes = b"", limit: int = 1000, folders: Folders | None = None
) -> Listing:
    """At most `limit` names in `directory`, in the order of paths.

    `start` is empty or the `next` of the part before. NotFound for what is not a directory.
    """
    if not start and not reader.is_directory(directory):
        raise NotFound(f"There is no directory {to_text(directory)!r} in this tree.")
    items: list[Listed] = []
    for part in _Walk(reader, directory, start, folders).parts(reader.root_ref(), None):
        last = items[-1] if items else None
        if last is not None and last.name == part.name and last.entry is None and part.entry is None:
            items[-1] = Listed(last.name, None, last.entries + part.entries, last.size + part.size)
        elif last is not None and len(items) >= limit:
            return Listing(items, last.name + (b"0" if last.entry is None else b"\0"))
        else:
            items.append(part)
    return Listing(items, None)


class _Walk:
    """Goes through the pages of a tree once, from left to right, giving the lines of one directory in parts."""

    def __init__(self, reader: TreeReader, directory: bytes, start: bytes, folders: Folders | None) -> None:
        self._reader = reader
        self._low, self._high = range_of(directory)
        self._place = self._low + start
        self._folders = folders
        self._ahead = 1
        self._ready: dict[str, LeafFolders] = {}

    def parts(self, ref: PageRef, upper: bytes | None) -> Iterator[Listed]:
        """What a page holds whose paths are all before `upper`: a directory may come in several parts."""
        if ref.level == 0:
            yield from self._leaf(ref.id, [ref.id])
            return
        page = self._reader.index(ref)
        uppers = [*page.paths[1:], upper]
        numbers = self._touched(page)
        names = [self._name_of_all(page.paths[number], uppers[number]) for number in numbers]
        opened = [page.ids[number] for number, name in zip(numbers, names, strict=True) if name is None]
        for number, name in zip(numbers, names, strict=True):
            child = page.child(number)
            if name is not None:
                yield Listed(name, None, child.entries, child.size)
            elif child.level:
                yield from self.parts(child, uppers[number])
            else:
                yield from self._leaf(child.id, opened)

    def _touched(self, page: IndexPage) -> range:
        first = max(bisect_right(page.paths, self._place) - 1, 0)
        return range(first, len(page) if self._high is None else max(bisect_left(page.paths, self._high), first))

    def _name_of_all(self, first: bytes, upper: bytes | None) -> bytes | None:
        """The one directory in the list that everything from `first` to before `upper` lies below."""
        if upper is None or first < self._place:
            return None
        name, slash, _ = first[len(self._low) :].partition(b"/")
        return name if slash and upper.startswith(self._low + name + slash) else None

    def _leaf(self, leaf_id: str, to_come: list[str]) -> Iterator[Listed]:
        held = self._held(leaf_id, to_come) if self._folders else None
        if held is None or self._low in held.directories:
            return self._lines(self._reader.leaf(leaf_id))
        return self._lines_of(held)

    def _held(self, leaf_id: str, to_come: list[str]) -> LeafFolders:
        """What a leaf holds by directory; some of the next leaves are asked for with it.

        More each time: a list that has not ended after a few leaves may need many.
        """
        if leaf_id not in self._ready and self._folders:
            start = to_come.index(leaf_id)
            ids = to_come[start : start + self._ahead]
            self._ready = dict(zip(ids, self._folders(ids), strict=True))
            self._ahead = min(2 * self._ahead, _AHEAD_MOST)
        return self._ready[leaf_id]

    def _lines_of(self, held: LeafFolders) -> Iterator[Listed]:
        """The lines of a leaf that has only directories for the list."""
        directories, start = held.directories, bisect_left(held.directories, self._low)
        end = len(directories) if self._high is None else bisect_left(directories, self._high)
        for number in range(start, end):
            name = directories[number][len(self._low) :].partition(b"/")[0]
            if self._low + name + b"0" > self._place:
                yield Listed(name, None, held.entries[number], held.sizes[number])

    def _lines(self, leaf: LeafPage) -> Iterator[Listed]:
        """The lines of a leaf, whatever lies in it."""
        paths, at = leaf.paths, bisect_left(leaf.paths, self._place)
        end = len(leaf) if self._high is None else bisect_left(paths, self._high)
        while at < end:
            name, slash, _ = paths[at][len(self._low) :].partition(b"/")
            if slash:
                behind = bisect_left(paths, self._low + name + b"0", at)
                yield Listed(name, None, behind - at, sum(leaf.sizes[at:behind]))
                at = behind
            else:
                entry = leaf.entry(at)
                yield Listed(name, entry, 0 if entry.kind == Kind.DIRECTORY else 1, entry.size)
                at += 1
