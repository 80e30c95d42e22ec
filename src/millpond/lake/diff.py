"""The difference of two trees, reading only the pages that differ."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter

from millpond.lake.digests import DIGEST_SIZE
from millpond.lake.pages import LeafPage, PageRef, Row
from millpond.lake.reader import PageSource, TreeReader
from millpond.model.tree import Content, Entry, Kind, TreeChange

# Entries whose digests are compared at once.
_BLOCK = 16
_first = attrgetter("first")


def diff_trees(
    source: PageSource, before: str, after: str, behind: bytes = b"", *, before_source: PageSource | None = None
) -> Iterator[TreeChange]:
    """Every path that differs, in the order of paths; only those behind the path `behind`.

    `before_source` is where the pages of `before` are read, if not where those of `after` are.
    """
    old, new = TreeReader(before_source or source, before), TreeReader(source, after)
    ranges = _ranges(*(_from(behind, leaves) for leaves in _differing_leaves(old, new)))
    changes = (change for before, after in ranges for change in _compare_leaves(old, before, new, after))
    return (change for change in changes if change.path > behind)


def compare(before: Iterator[Entry], after: Iterator[Entry]) -> Iterator[TreeChange]:
    """The differences of two sorted lists of entries."""
    return _compare(map(_row, before), map(_row, after))


def _differing_leaves(old: TreeReader, new: TreeReader) -> tuple[list[PageRef], list[PageRef]]:
    """The leaves that only one of the trees has. A page in both holds the same paths in both, so it is left out."""
    left, right = [old.root_ref()], [new.root_ref()]
    while True:
        common = {ref.id for ref in left} & {ref.id for ref in right}
        left = [ref for ref in left if ref.id not in common]
        right = [ref for ref in right if ref.id not in common]
        level = max((ref.level for ref in left + right), default=0)
        if level == 0:
            return left, right
        left, right = _opened(old, left, level), _opened(new, right, level)


def _opened(reader: TreeReader, refs: list[PageRef], level: int) -> list[PageRef]:
    """`refs` with the pages of the highest level replaced by their children."""
    if not refs or refs[0].level < level:
        return refs
    return [child for ref in refs for child in reader.children(ref)]


def _from(behind: bytes, leaves: list[PageRef]) -> list[PageRef]:
    """Without the leaves that end before `behind`."""
    return leaves[max(bisect_right(leaves, behind, key=_first) - 1, 0) :]


def _ranges(old: list[PageRef], new: list[PageRef]) -> Iterator[tuple[list[PageRef], list[PageRef]]]:
    """The leaves of both trees, cut where both begin one with the same path.

    Where paths have neither come nor gone that is a leaf of each at a time.
    """
    cuts = sorted({ref.first for ref in old} & {ref.first for ref in new})
    for low, high in pairwise((None, *cuts, None)):
        yield _between(old, low, high), _between(new, low, high)


def _between(leaves: list[PageRef], low: bytes | None, high: bytes | None) -> list[PageRef]:
    start = 0 if low is None else bisect_left(leaves, low, key=_first)
    return leaves[start : None if high is None else bisect_left(leaves, high, key=_first)]


def _compare_leaves(
    old: TreeReader, before: list[PageRef], new: TreeReader, after: list[PageRef]
) -> Iterator[TreeChange]:
    if len(before) == len(after) == 1:
        was, now = old.leaf(before[0].id), new.leaf(after[0].id)
        if was.paths == now.paths:
            return (TreeChange(now.paths[at], was.entry(at), now.entry(at)) for at in _differing(was, now))
    return _compare(_rows(old, before), _rows(new, after))


def _differing(before: LeafPage, after: LeafPage) -> Iterator[int]:
    """The numbers of the entries that differ, of leaves with the same paths: found without making any of them."""
    if (before.kinds, before.contents, before.sizes) != (after.kinds, after.contents, after.sizes):
        yield from (at for at, (old, new) in enumerate(zip(before.rows(), after.rows(), strict=True)) if old != new)
        return
    for start in range(0, len(after), _BLOCK):
        block = slice(start * DIGEST_SIZE, (start + _BLOCK) * DIGEST_SIZE)
        if before.digests[block] != after.digests[block]:
            numbers = range(start, min(start + _BLOCK, len(after)))
            yield from (at for at in numbers if before.digest(at) != after.digest(at))


def _rows(reader: TreeReader, leaves: list[PageRef]) -> Iterator[Row]:
    for ref in leaves:
        yield from reader.leaf(ref.id).rows()


def _compare(before: Iterator[Row], after: Iterator[Row]) -> Iterator[TreeChange]:
    old, new = next(before, None), next(after, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old[0] < new[0]):
            assert old is not None
            yield TreeChange(old[0], _entry(old), None)
            old = next(before, None)
        elif old is None or new[0] < old[0]:
            yield TreeChange(new[0], None, _entry(new))
            new = next(after, None)
        else:
            if old != new:
                yield TreeChange(new[0], _entry(old), _entry(new))
            old, new = next(before, None), next(after, None)


def _row(entry: Entry) -> Row:
    return entry.path, entry.kind, entry.content, entry.size, entry.digest


def _entry(row: Row) -> Entry:
    path, kind, content, size, digest = row
    return Entry(path, Kind(kind), size, Content(content), digest)
