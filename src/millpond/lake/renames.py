"""Renames in a difference of two trees: what was removed at one path and added at another, all else being equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from millpond.model.tree import Content, Entry, TreeChange

# Memory for paths that may turn out to be renamed: enough for some hundred thousand of usual length.
CANDIDATES_MOST = 64 << 20
# Changes that are kept with their summary.
WHOLE_MOST = 2000
# What a path costs beside its own bytes.
_OVERHEAD = 200


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole difference in numbers. `old_paths` gives the old path of each renamed one by its new path."""

    added: int
    removed: int
    changed: int
    added_bytes: int
    removed_bytes: int
    renamed_bytes: int
    old_paths: Mapping[bytes, bytes]
    gone: Set[bytes]
    # All of it, with renames, if it is small: then nothing need be read again.
    whole: Sequence[TreeChange] | None
    # False if there was no memory for all that may have been renamed.
    complete: bool

    @property
    def renamed(self) -> int:
        return len(self.old_paths)

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes."""
        renames = sum(len(new) + len(old) + _OVERHEAD for new, old in self.old_paths.items())
        changes = sum(2 * (len(change.path) + _OVERHEAD) for change in self.whole or ())
        return _OVERHEAD + renames + changes


def summarise(changes: Iterable[TreeChange], candidates_most: int = CANDIDATES_MOST) -> Summary:
    """Count a difference and find its renames; memory is bounded, whatever its size.

    Paths with equal content are paired in the order of paths, so a directory that moved comes out file by file.
    Entries without content are never renamed: nothing tells them apart.
    """
    counts = {"added": 0, "removed": 0, "changed": 0}
    came = went = 0
    candidates = _Candidates(candidates_most)
    first: list[TreeChange] = []
    for change in changes:
        if len(first) <= WHOLE_MOST:
            first.append(change)
        counts[change.change] += 1
        came += change.after.size if change.after else 0
        went += change.before.size if change.before else 0
        candidates.take(change)
    pairs, moved = candidates.pairs()
    gone = frozenset(pairs.values())
    return Summary(
        added=counts["added"] - len(pairs),
        removed=counts["removed"] - len(pairs),
        changed=counts["changed"],
        added_bytes=came - moved,
        removed_bytes=went - moved,
        renamed_bytes=moved,
        old_paths=pairs,
        gone=gone,
        whole=list(_renamed(first, pairs, gone)) if len(first) <= WHOLE_MOST else None,
        complete=candidates.left >= 0,
    )


def with_renames(changes: Iterable[TreeChange], summary: Summary) -> Iterator[TreeChange]:
    """The same difference with each rename as one change, at its new path."""
    return _renamed(changes, summary.old_paths, summary.gone)


def _renamed(changes: Iterable[TreeChange], old_paths: Mapping[bytes, bytes], gone: Set[bytes]) -> Iterator[TreeChange]:
    for change in changes:
        if change.after is None and change.path in gone:
            continue
        old = old_paths.get(change.path) if change.before is None else None
        if old is not None and change.after is not None:
            yield TreeChange(change.path, replace(change.after, path=old), change.after)
        else:
            yield change


class _Candidates:
    def __init__(self, most: int) -> None:
        self.left = most
        self._removed: dict[tuple[int, bytes, int], list[bytes]] = defaultdict(list)
        self._added: dict[tuple[int, bytes, int], list[bytes]] = defaultdict(list)

    def take(self, change: TreeChange) -> None:
        entry = change.before or change.after
        if entry is None or change.change == "changed" or entry.content is Content.NOTHING or self.left < 0:
            return
        self.left -= len(entry.path) + _OVERHEAD
        if self.left >= 0:
            (self._removed if change.after is None else self._added)[_likeness(entry)].append(entry.path)

    def pairs(self) -> tuple[dict[bytes, bytes], int]:
        """Old paths by new paths, and the bytes of all of them."""
        found: dict[bytes, bytes] = {}
        moved = 0
        for likeness, old in self._removed.items():
            new = self._added.get(likeness, ())
            paired = list(zip(new, old, strict=False))
            found.update(paired)
            moved += len(paired) * likeness[2]
        return found, moved


def _likeness(entry: Entry) -> tuple[int, bytes, int]:
    """What stays the same in a rename."""
    return entry.kind, entry.digest, entry.size
