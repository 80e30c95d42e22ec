"""Path-level three-way merge of trees: pure, and reading only the pages in which the trees differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millpond.lake.diff import diff_trees
from millpond.lake.reader import PageSource, TreeReader
from millpond.model.path import to_text
from millpond.model.tree import Entry, Kind, TreeChange


@dataclass(frozen=True, slots=True)
class PathConflict:
    """What the two sides did that cannot both hold.

    Both changes are of one path, or one side put something at a path that is a directory for the other: then one
    path lies below the other.
    """

    ours: TreeChange
    theirs: TreeChange

    @property
    def path(self) -> bytes:
        """The path both sides claim: the upper one of the two."""
        return min(self.ours.path, self.theirs.path)

    def describe(self, ours: str = "ours", theirs: str = "theirs") -> str:
        """`'a.csv': ours changed it, theirs removed it`."""
        if self.ours.path == self.theirs.path:
            return f"{to_text(self.path)!r}: {ours} {self.ours.change} it, {theirs} {self.theirs.change} it"
        upper, lower = sorted(((self.ours, ours), (self.theirs, theirs)), key=lambda side: side[0].path)
        below = to_text(lower[0].path)
        return (
            f"{to_text(self.path)!r}: {upper[1]} {upper[0].change} it, {lower[1]} {lower[0].change} {below!r} below it"
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """What to apply on theirs, in the order of paths; with conflicts, nothing may be applied.

    `before` of each change is what theirs holds, `after` what the merged tree holds. Applied by
    `edit_tree(source, theirs, merged.puts, merged.removals, sink)`.
    """

    changes: list[TreeChange]
    conflicts: list[PathConflict]

    @property
    def puts(self) -> list[Entry]:
        return [change.after for change in self.changes if change.after is not None]

    @property
    def removals(self) -> list[bytes]:
        return [change.path for change in self.changes if change.after is None]


def merge_trees(source: PageSource, base: str | None, ours: str | None, theirs: str) -> Merged:
    """Apply on `theirs` what `ours` changed since `base`. All three are root pages; None is the empty tree.

    A path that one side changed follows that side; one that both changed alike stays as theirs has it; one that both
    changed differently is a conflict, and so is a file that would be a directory of another. Content and mode are one:
    there is no merging inside a file. An empty directory gives way to what the other side put below it.

    Reverting a commit is the same with base = the commit's tree, ours = its parent's, theirs = the head's.
    """
    our_changes = {change.path: change for change in _changes(source, base, ours)}
    their_changes = {change.path: change for change in _changes(source, base, theirs)}
    conflicts: list[PathConflict] = []
    applied: dict[bytes, TreeChange] = {}
    for path, ours_did in our_changes.items():
        theirs_did = their_changes.get(path)
        if theirs_did is None:
            applied[path] = ours_did
        elif theirs_did.after != ours_did.after:
            conflicts.append(PathConflict(ours_did, theirs_did))
    undecided = {conflict.path for conflict in conflicts}
    conflicts += _make_room(applied, {path: did for path, did in their_changes.items() if path not in undecided})
    return Merged(
        changes=[change for _, change in sorted(applied.items())],
        conflicts=sorted(conflicts, key=lambda conflict: (conflict.ours.path, conflict.theirs.path)),
    )


def _changes(source: PageSource, before: str | None, after: str | None) -> Iterator[TreeChange]:
    if before is not None and after is not None:
        yield from diff_trees(source, before, after)
    elif after is not None:
        yield from (TreeChange(entry.path, None, entry) for entry in TreeReader(source, after).entries())
    elif before is not None:
        yield from (TreeChange(entry.path, entry, None) for entry in TreeReader(source, before).entries())


def _make_room(applied: dict[bytes, TreeChange], theirs: Mapping[bytes, TreeChange]) -> list[PathConflict]:
    """Let empty directories give way in `applied`; what else would stand both as a file and as a directory.

    Each side alone is a tree, so only what both of them put can collide.
    """
    puts = [change for change in applied.values() if change.after is not None]
    their_puts = {path: change for path, change in theirs.items() if change.after is not None}
    our_puts = {change.path: change for change in puts}
    conflicts: list[PathConflict] = []
    for change in puts:
        for above in (their_puts[parent] for parent in _parents(change.path) if parent in their_puts):
            if _is_directory(above):
                applied[above.path] = TreeChange(above.path, above.after, None)
            else:
                conflicts.append(PathConflict(change, above))
    for change in their_puts.values():
        for above in (our_puts[parent] for parent in _parents(change.path) if parent in our_puts):
            if _is_directory(above):
                applied.pop(above.path, None)
            else:
                conflicts.append(PathConflict(above, change))
    return conflicts


def _is_directory(change: TreeChange) -> bool:
    return change.after is not None and change.after.kind == Kind.DIRECTORY


def _parents(path: bytes) -> Iterator[bytes]:
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)
