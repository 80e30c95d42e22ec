"""Finds the merge base of two histories: the commit a three-way merge starts from."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from millpond.model.dataset import Commit

# Commits by their ids.
Load = Callable[[Collection[str]], Iterable[Commit]]

_LEFT, _RIGHT, _PASSED = 1, 2, 4
_BOTH = _LEFT | _RIGHT


@dataclass(frozen=True, slots=True)
class Parting:
    """`common` is the newest commit that both have grown from (one of the two itself, if the other grew from it).

    None if none is known; `is_cut` if commits on the way back are gone: there may have been one.
    """

    common: Commit | None
    is_cut: bool


def parting(left: Commit, right: Commit, load: Load) -> Parting:
    """Where the histories of two commits part.

    Looks only at commits back to where the two part. Where histories crossed and several would do, it is the newest.
    """
    walk = _Walk(load)
    walk.mark(left, _LEFT)
    walk.mark(right, _RIGHT)
    common: list[Commit] = []
    while walk.unpassed:
        commit = walk.next()
        marks = walk.marks[commit.id]
        if marks & _BOTH == _BOTH:
            common.append(commit)
            marks |= _PASSED  # what lies behind it is common, too, but farther away
        walk.mark_parents(commit, marks)
    nearest = [commit for commit in common if not walk.marks[commit.id] & _PASSED]
    return Parting(max(nearest, key=lambda commit: (commit.time, commit.id), default=None), walk.is_cut)


class _Walk:
    """Goes back in time from both sides at once, carrying along which side each commit was reached from."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._queue: list[tuple[float, str]] = []
        self._queued: dict[str, Commit] = {}
        self.marks: dict[str, int] = {}
        # Those in the queue that are not yet known to lie behind a common one: without any, all is found.
        self.unpassed: set[str] = set()
        self.is_cut = False

    def next(self) -> Commit:
        commit = self._queued.pop(heapq.heappop(self._queue)[1])
        self.unpassed.discard(commit.id)
        return commit

    def mark(self, commit: Commit, marks: int) -> None:
        before = self.marks.get(commit.id, 0)
        after = self.marks[commit.id] = before | marks
        if after == before:
            return
        if commit.id not in self._queued:
            self._queued[commit.id] = commit
            heapq.heappush(self._queue, (-commit.time.timestamp(), commit.id))
        if after & _PASSED:
            self.unpassed.discard(commit.id)
        else:
            self.unpassed.add(commit.id)

    def mark_parents(self, commit: Commit, marks: int) -> None:
        new = [parent for parent in commit.parents if self.marks.get(parent, 0) | marks != self.marks.get(parent)]
        found = list(self._load(new)) if new else []
        self.is_cut = self.is_cut or len(found) < len(set(new))
        for parent in found:
            self.mark(parent, marks)
