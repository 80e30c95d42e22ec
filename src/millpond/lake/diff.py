"""The difference of two trees, reading only the pages that differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from millpond.lake.pages import PageRef, Row
from millpond.lake.reader import PageSource, TreeReader
from millpond.model.tree import Content, Entry, Kind, TreeChange


def diff_trees(
    source: PageSource, before: str, after: str, behind: bytes = b"", *, before_source: PageSource | None = None
) -> Iterator[TreeChange]:
    """Every path that differs, in the order of paths; only those behind the path `behind`.

    `before_source` is where the pages of `before` are read, if not where those of `after` are.
    """
    old, new = TreeReader(before_source or source, before), TreeReader(source, after)
    old_leaves, new_leaves = _differing_leaves(old, new)
    changes = _compare(_rows(old, old_leaves, behind), _rows(new, new_leaves, behind))
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


def _rows(reader: TreeReader, leaves: list[PageRef], behind: bytes) -> Iterator[Row]:
    """The entries of these leaves, without the leaves that end before `behind`."""
    firsts = [ref.first for ref in leaves]
    for ref in leaves[max(bisect_right(firsts, behind) - 1, 0) :]:
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
