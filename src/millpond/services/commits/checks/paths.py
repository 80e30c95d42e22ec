"""What no single page can tell of a tree: that no entry is a directory of another entry in another page."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from millpond.errors import BadFormat
from millpond.lake.pages import LeafPage
from millpond.lake.reader import PageSource, TreeReader
from millpond.model.path import to_text

_SLASH = 0x2F


@dataclass(frozen=True, slots=True)
class LeafEnds:
    """What must be known of a leaf to hold it against the leaves around it."""

    last: bytes
    # Directories of its paths that begin its first path, and entries that begin its last one.
    directories: tuple[bytes, ...]
    entries: tuple[bytes, ...]


def ends_of(leaf: LeafPage) -> LeafEnds:
    first, last = leaf.paths[0], leaf.paths[-1]
    beginnings = (first[:length] for length in range(1, len(first)) if first[length] <= _SLASH)
    directories = tuple(directory for directory in beginnings if _holds(leaf, directory))
    entries = (last[:length] for length in range(1, len(last) + 1))
    return LeafEnds(last, directories, tuple(entry for entry in entries if _is_entry(leaf, entry)))


def leaf_ids(source: PageSource, root: str) -> set[str]:
    """The leaves of a tree; only its index pages are read."""
    return {page_id for page_id, _ in _leaves(TreeReader(source, root), root)}


def check_directories(source: PageSource, root: str, settled: str | None, ends: Mapping[str, LeafEnds]) -> None:
    """BadFormat if some entry is a directory of another: a link there would lead out of the tree.

    Each page was checked by itself, and the leaves of `settled` (another, checked tree) among each other. So each
    leaf that is new is held against everything before and behind it. `ends` are those of leaves that were just read:
    with them hardly any page is read again.
    """
    reader = TreeReader(source, root)
    before = leaf_ids(source, settled) if settled is not None else set()
    leaves = list(_leaves(reader, root))
    neighbours = _Neighbours(reader, [page_id for page_id, _ in leaves], [first for _, first in leaves], ends)
    for number, (page_id, _) in enumerate(leaves):
        if page_id not in before and len(leaves) > 1:
            neighbours.check(number, ends.get(page_id) or ends_of(reader.leaf(page_id)))


def _leaves(reader: TreeReader, page_id: str) -> Iterator[tuple[str, bytes]]:
    """Each leaf with its first path, as far as index pages tell it."""
    page = reader.page(page_id)
    if isinstance(page, LeafPage):
        yield page_id, page.paths[0] if page.paths else b""
    elif page.level == 1:
        yield from zip(page.ids, page.paths, strict=True)
    else:
        for child in page.ids:
            yield from _leaves(reader, child)


@dataclass
class _Neighbours:
    reader: TreeReader
    ids: Sequence[str]
    firsts: Sequence[bytes]
    ends: Mapping[str, LeafEnds]
    looked_at: dict[bytes, bool] = field(default_factory=dict)

    def check(self, number: int, ends: LeafEnds) -> None:
        """No directory of this leaf's paths is an entry before it, and no entry of it a directory of paths behind it.

        An entry before the leaf that is a directory of its paths begins its first path; an entry of the leaf that is
        a directory of paths behind it begins its last one.
        """
        for directory in ends.directories:
            if directory not in self.looked_at:
                self.looked_at[directory] = self._is_entry(directory)
            if self.looked_at[directory]:
                raise _conflict(directory)
        behind = self.firsts[number + 1] if number + 1 < len(self.firsts) else None
        for entry in ends.entries:
            if behind is not None and behind < entry + b"0" and next(self.reader.entries(entry), None) is not None:
                raise _conflict(entry)

    def _is_entry(self, directory: bytes) -> bool:
        """Without reading the leaf where it would stand, if that one ends before it, or with something below it: such
        a leaf was checked by itself."""
        known = self.ends.get(self.ids[max(bisect_right(self.firsts, directory) - 1, 0)])
        if known is not None and (known.last < directory or known.last.startswith(directory + b"/")):
            return False
        return self.reader.stat(directory) is not None


def _holds(leaf: LeafPage, directory: bytes) -> bool:
    number = bisect_left(leaf.paths, directory + b"/")
    return number < len(leaf) and leaf.paths[number].startswith(directory + b"/")


def _is_entry(leaf: LeafPage, path: bytes) -> bool:
    number = bisect_left(leaf.paths, path)
    return number < len(leaf) and leaf.paths[number] == path


def _conflict(path: bytes) -> BadFormat:
    return BadFormat(f"{to_text(path)!r} is both an entry of the tree and a directory of others.")
