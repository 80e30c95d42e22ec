"""Building the pages of a tree from its sorted entries, in one pass and with boundaries that depend on paths only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

from millpond.errors import BadFormat
from millpond.lake.digests import id_of
from millpond.lake.pages import (
    INDEX_MOST_CHILDREN,
    LEAF_MOST_ENTRIES,
    LEAF_MOST_PATH_BYTES,
    PageRef,
    Row,
    encode_index,
    encode_rows,
    row_of,
)
from millpond.model.tree import Entry, Kind

_LEAF_LEAST = 512
_LEAF_SPREAD = 1024
_INDEX_LEAST = 256
_INDEX_SPREAD = 512

# Takes each new page: its id and its canonical bytes. Leaves come in order; children come before their parents.
PageSink = Callable[[str, bytes], None]


def leaf_ends(count: int, last: bytes, path_bytes: int) -> bool:
    """Whether a leaf ends after its `count`-th entry, whose path is `last`, with so many bytes of paths."""
    natural = count >= _LEAF_LEAST and crc32(last) % _LEAF_SPREAD == 0
    return natural or count == LEAF_MOST_ENTRIES or path_bytes >= LEAF_MOST_PATH_BYTES


def leaf_ends_within(paths: Sequence[bytes]) -> bool:
    """Whether a leaf of these paths, which is not larger than a leaf may be, should have ended before its last one."""
    return any(crc32(path) % _LEAF_SPREAD == 0 for path in paths[_LEAF_LEAST - 1 : -1])


def index_ends(count: int, first: bytes) -> bool:
    """Whether an index page ends after its `count`-th child, whose first path is `first`."""
    natural = count >= _INDEX_LEAST and crc32(first) % _INDEX_SPREAD == 0
    return natural or count == INDEX_MOST_CHILDREN


@dataclass(frozen=True, slots=True)
class Tree:
    """What is known of a whole tree. `files` counts the entries that are not (empty) directories."""

    root: str
    entries: int
    files: int
    bytes: int


class TreeBuilder:
    """Takes entries in the order of their paths and gives pages to `sink` as they fill."""

    def __init__(self, sink: PageSink) -> None:
        self._sink = sink
        self._pending: list[Row] = []
        self._pending_path_bytes = 0
        self._leaves: list[PageRef] = []
        self._directories = 0
        # Of all before these: the last path, and those of them that it begins with, which might be directories.
        self._last = b""
        self._open: list[bytes] = []

    @property
    def at_boundary(self) -> bool:
        """Whether the next entry begins a new leaf."""
        return not self._pending

    def add(self, entry: Entry) -> None:
        self.extend((row_of(entry),))

    def extend(self, rows: Sequence[Row]) -> None:
        """BadFormat, by the end of their leaf, if one does not sort behind that before it, or lies below an earlier."""
        start, count, path_bytes = 0, len(self._pending), self._pending_path_bytes
        for number, row in enumerate(rows, start=1):
            path = row[0]
            count += 1
            path_bytes += len(path)
            if leaf_ends(count, path, path_bytes):
                self._pending += rows[start:number]
                self._end_leaf()
                start, count, path_bytes = number, 0, 0
        self._pending += rows[start:]
        self._pending_path_bytes = path_bytes

    def add_leaf(self, leaf: PageRef) -> None:
        """Take a whole leaf of another tree as it is. Only at a boundary; the caller vouches for its place."""
        if self._pending:
            raise ValueError("a leaf can only be taken at a boundary")
        self._leaves.append(leaf)
        self._last, self._open = b"", []

    def finish(self) -> Tree:
        """The whole tree. Directories inside leaves taken by `add_leaf` are counted as files."""
        if self._pending or not self._leaves:
            self._end_leaf()
        refs, level = self._leaves, 0
        while len(refs) > 1:
            level += 1
            refs = self._build_level(level, refs)
        root = refs[0]
        return Tree(root.id, root.entries, root.entries - self._directories, root.size)

    def _check_place(self, paths: Sequence[bytes]) -> None:
        """Those of one leaf, which agree with each other, against all earlier ones."""
        if self._last and self._last >= paths[0]:
            raise BadFormat("The entries of a tree are not sorted, or one stands there twice.")
        for above in self._open:
            below = bisect_left(paths, above + b"/")
            if below < len(paths) and paths[below].startswith(above + b"/"):
                raise BadFormat("The entries of a tree name a path and a directory of that name.")
        # What comes between a path and something below it begins with that path.
        self._last, among = paths[-1], {*paths, *self._open}
        beginnings = (self._last[:length] for length in range(1, len(self._last) + 1))
        self._open = [path for path in beginnings if path in among]

    def _end_leaf(self) -> None:
        rows, self._pending, self._pending_path_bytes = self._pending, [], 0
        data = encode_rows(rows)
        if rows:
            self._check_place([row[0] for row in rows])
        self._directories += sum(row[1] == Kind.DIRECTORY for row in rows)
        total = sum(row[3] for row in rows)
        self._leaves.append(self._emit(data, 0, len(rows), total, rows[0][0] if rows else b""))

    def _build_level(self, level: int, children: list[PageRef]) -> list[PageRef]:
        built: list[PageRef] = []
        pending: list[PageRef] = []
        for child in children:
            pending.append(child)
            if index_ends(len(pending), child.first):
                built.append(self._end_index(level, pending))
                pending = []
        if pending:
            built.append(self._end_index(level, pending))
        return built

    def _end_index(self, level: int, children: list[PageRef]) -> PageRef:
        entries = sum(child.entries for child in children)
        total = sum(child.size for child in children)
        return self._emit(encode_index(level, children), level, entries, total, children[0].first)

    def _emit(self, data: bytes, level: int, entries: int, total: int, first: bytes) -> PageRef:
        page_id = id_of(data)
        self._sink(page_id, data)
        return PageRef(page_id, level, entries, total, first)


def build_tree(entries: Iterable[Entry], sink: PageSink) -> Tree:
    """Build a whole tree from entries sorted by path."""
    builder = TreeBuilder(sink)
    for entry in entries:
        builder.add(entry)
    return builder.finish()
