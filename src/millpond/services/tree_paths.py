"""What no single page can tell of a tree: that no entry is a directory of another entry in another page."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from millpond.errors import BadFormat
from millpond.lake.pages import LeafPage
from millpond.lake.reader import PageSource, TreeReader
from millpond.model.path import to_text

_SLASH = 0x2F


def leaf_ids(source: PageSource, root: str) -> set[str]:
    """The leaves of a tree; only its index pages are read."""
    return set(_leaf_ids(TreeReader(source, root), root))


def check_directories(source: PageSource, root: str, settled: str | None) -> None:
    """BadFormat if some entry is a directory of another: a link there would lead out of the tree.

    Each page was checked by itself, and the leaves of `settled` (another, checked tree) among each other. So each
    leaf that is new is held against everything before and behind it; that reads few pages beside its own.
    """
    reader = TreeReader(source, root)
    before = leaf_ids(source, settled) if settled is not None else set()
    ordered = list(_leaf_ids(reader, root))
    if len(ordered) < 2:
        return
    looked_at: dict[bytes, bool] = {}
    for page_id in ordered:
        if page_id not in before:
            leaf = reader.leaf(page_id)
            _check_before(reader, leaf, looked_at)
            _check_behind(reader, leaf)


def _leaf_ids(reader: TreeReader, page_id: str) -> Iterator[str]:
    page = reader.page(page_id)
    if isinstance(page, LeafPage):
        yield page_id
    elif page.level == 1:
        yield from page.ids
    else:
        for child in page.ids:
            yield from _leaf_ids(reader, child)


def _check_before(reader: TreeReader, leaf: LeafPage, looked_at: dict[bytes, bool]) -> None:
    """No directory of this leaf's paths is an entry before it.

    Such an entry sorts before the leaf's first path and yet begins it, so only beginnings of that path can be one.
    """
    first = leaf.paths[0]
    for length in range(1, len(first)):
        directory = first[:length]
        if first[length] > _SLASH or not _holds(leaf, directory):
            continue
        if directory not in looked_at:
            looked_at[directory] = reader.stat(directory) is not None
        if looked_at[directory]:
            raise _conflict(directory)


def _check_behind(reader: TreeReader, leaf: LeafPage) -> None:
    """No entry of this leaf is a directory of paths behind it; such an entry begins the leaf's last path."""
    last = leaf.paths[-1]
    for length in range(1, len(last) + 1):
        entry = last[:length]
        number = bisect_left(leaf.paths, entry)
        if number < len(leaf) and leaf.paths[number] == entry and next(reader.entries(entry), None) is not None:
            raise _conflict(entry)


def _holds(leaf: LeafPage, directory: bytes) -> bool:
    number = bisect_left(leaf.paths, directory + b"/")
    return number < len(leaf) and leaf.paths[number].startswith(directory + b"/")


def _conflict(path: bytes) -> BadFormat:
    return BadFormat(f"{to_text(path)!r} is both an entry of the tree and a directory of others.")
