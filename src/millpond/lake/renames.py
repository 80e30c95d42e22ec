"""Renames in a difference of two trees: what was removed at one path and added at another, all else being equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

from millpond.model.tree import Content, Entry, TreeChange

# Memory for paths that may turn out to be renamed: enough for some hundred thousand of usual length.
CANDIDATES_MOST = 64 << 20
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
    # False if there was no memory for all that may have been renamed.
    complete: bool

    @property
    def renamed(self) -> int:
        return len(self.old_paths)

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes."""
        return _OVERHEAD + sum(len(new) + len(old) + _OVERHEAD for new, old in self.old_paths.items())


def summarise(changes: Iterable[TreeChange], candidates_most: int = CANDIDATES_MOST) -> Summary:
    """Count a difference and find its renames; memory is bounded, whatever its size.

    Paths with equal content are paired in the order of paths, so a directory that moved comes out file by file.
    Entries without content are never renamed: nothing tells them apart.
    """
    counts = {"added": 0, "removed": 0, "changed": 0}
    came = went = 0
    candidates = _Candidates(candidates_most)
    for change in changes:
        counts[change.change] += 1
        came += change.after.size if change.after else 0
        went += change.before.size if change.before else 0
        candidates.take(change)
    pairs, moved = candidates.pairs()
    return Summary(
        added=counts["added"] - len(pairs),
        removed=counts["removed"] - len(pairs),
        changed=counts["changed"],
        added_bytes=came - moved,
        removed_bytes=went - moved,
        renamed_bytes=moved,
        old_paths=pairs,
        gone=frozenset(pairs.values()),
        complete=candidates.left >= 0,
    )


def with_renames(changes: Iterable[TreeChange], summary: Summary) -> Iterator[TreeChange]:
    """The same difference with each rename as one change, at its new path."""
    for change in changes:
        if change.after is None and change.path in summary.gone:
            continue
        old = summary.old_paths.get(change.path) if change.before is None else None
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
