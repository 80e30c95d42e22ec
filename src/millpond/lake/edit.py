"""Changing a few paths of a tree: only the pages they touch are read and written again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from millpond.errors import BadPath
from millpond.lake.pages import PageRef
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.tree import PageSink, TreeBuilder
from millpond.model.path import check_path, to_text
from millpond.model.tree import Entry, Kind


@dataclass(frozen=True, slots=True)
class EditedTree:
    """The tree after an edit; `files_change` is to be added to the files of the tree before it."""

    root: str
    entries: int
    bytes: int
    files_change: int


def edit_tree(
    source: PageSource, root: str, puts: Iterable[Entry], removals: Iterable[bytes], sink: PageSink
) -> EditedTree:
    """`root` without the paths in `removals` and with `puts` added or replaced: the same tree as built anew.

    A path that is not there need not be removed. An empty directory gives way to what is put below it; otherwise
    BadPath where a path would be a directory of another. `sink` also gets index pages that exist already.
    """
    reader = TreeReader(source, root)
    changes: dict[bytes, Entry | None] = dict.fromkeys(removals)
    changes.update({check_path(entry.path): entry for entry in puts})
    _make_room(reader, changes)
    builder = TreeBuilder(sink)
    files_change = _rewrite(reader, dict(sorted(changes.items())), builder)
    tree = builder.finish()
    return EditedTree(tree.root, tree.entries, tree.bytes, files_change)


def _make_room(reader: TreeReader, changes: dict[bytes, Entry | None]) -> None:
    """Remove empty directories that get content; refuse what would stand both as a file and as a directory."""
    puts = [path for path, entry in changes.items() if entry is not None]
    for parent in {parent for path in puts for parent in _parents(path)}:
        above = changes[parent] if parent in changes else reader.stat(parent)
        if above is not None and above.kind != Kind.DIRECTORY:
            raise BadPath(f"{to_text(parent)!r} is a file: nothing can lie below it.")
        if above is not None:
            changes[parent] = None
    for path in puts:
        if changes[path] is None or not reader.holds(path):
            continue
        if any(entry.path not in changes for entry in reader.entries(path)):
            raise BadPath(f"{to_text(path)!r} is a directory that holds something.")


def _rewrite(reader: TreeReader, changes: Mapping[bytes, Entry | None], builder: TreeBuilder) -> int:
    """Give the builder whole leaves where nothing changes and it stands at a boundary, entries elsewhere."""
    leaves = [ref for ref in reader.leaves() if ref.entries]
    groups = _by_leaf(leaves, changes)
    files_change = 0
    for number, ref in enumerate(leaves):
        group = groups.get(number)
        # The last leaf may have ended only because the tree did.
        if group is None and builder.at_boundary:
            builder.add_leaf(ref)
            continue
        before = list(reader.leaf(ref.id).entries())
        after = list(_changed(before, group or {}))
        files_change += _files(after) - _files(before)
        for entry in after:
            builder.add(entry)
    if not leaves:
        for entry in (entry for entry in changes.values() if entry is not None):
            files_change += entry.kind != Kind.DIRECTORY
            builder.add(entry)
    return files_change


def _by_leaf(leaves: list[PageRef], changes: Mapping[bytes, Entry | None]) -> dict[int, dict[bytes, Entry | None]]:
    """Each change belongs to the last leaf that begins at or before it: a new path never reopens an earlier one."""
    firsts = [ref.first for ref in leaves]
    groups: dict[int, dict[bytes, Entry | None]] = {}
    for path, entry in changes.items():
        groups.setdefault(max(bisect_right(firsts, path) - 1, 0), {})[path] = entry
    return groups


def _changed(entries: list[Entry], changes: Mapping[bytes, Entry | None]) -> Iterator[Entry]:
    merged: dict[bytes, Entry | None] = {entry.path: entry for entry in entries}
    merged.update(changes)
    return (entry for _, entry in sorted(merged.items()) if entry is not None)


def _files(entries: list[Entry]) -> int:
    return sum(entry.kind != Kind.DIRECTORY for entry in entries)


def _parents(path: bytes) -> Iterator[bytes]:
    parent = path.rpartition(b"/")[0]
    while parent:
        yield parent
        parent = parent.rpartition(b"/")[0]
