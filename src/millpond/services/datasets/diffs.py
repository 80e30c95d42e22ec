"""What differs between two commits, with renames, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from millpond.lake.diff import diff_trees
from millpond.lake.renames import Summary, summarise, with_renames
from millpond.model.dataset import Commit, Dataset
from millpond.model.tree import TreeChange
from millpond.services import listing
from millpond.services.datasets.reading import pages_of, place_of
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class Diff:
    """`summary` is of the whole difference, `changes` are one part of it."""

    before: str
    after: str
    summary: Summary
    changes: Sequence[TreeChange]
    next: str | None


def diff(deps: Deps, dataset: Dataset, before: Commit, after: Commit, *, limit: int, cursor: str | None) -> Diff:
    """What differs, in the order of paths; only the pages that differ are read."""
    behind = place_of(cursor)
    summary = _summary(deps, dataset, before, after)
    found = list(islice(_changes(deps, dataset, before, after, summary, behind), limit + 1))
    shown = found[:limit]
    following = listing.encode(shown[-1].path.hex()) if len(found) > limit else None
    return Diff(before.id, after.id, summary, shown, following)


def _summary(deps: Deps, dataset: Dataset, before: Commit, after: Commit) -> Summary:
    """Counted once for all parts of a list that somebody pages through."""
    key = (before.tree, after.tree)
    summary = deps.diffs.get(key)
    if summary is None:
        summary = summarise(diff_trees(pages_of(deps, dataset), *key))
        deps.diffs.put(key, summary)
    return summary


def _changes(
    deps: Deps, dataset: Dataset, before: Commit, after: Commit, summary: Summary, behind: bytes
) -> Iterator[TreeChange]:
    if summary.whole is not None:
        return (change for change in summary.whole if change.path > behind)
    return with_renames(diff_trees(pages_of(deps, dataset), before.tree, after.tree, behind), summary)
