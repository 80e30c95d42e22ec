"""What differs between two commits, with renames, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from millpond.lake.diff import diff_trees
from millpond.lake.renames import Summary, summarise, with_renames
from millpond.model.dataset import Commit, Dataset
from millpond.model.path import to_text
from millpond.model.tree import TreeChange
from millpond.services import listing
from millpond.services.datasets.reading import pages_of, place_of
from millpond.services.deps import Deps
from millpond.wire import data as wire


def diff(deps: Deps, dataset: Dataset, before: Commit, after: Commit, *, limit: int, cursor: str | None) -> wire.Diff:
    """What differs, in the order of paths; only the pages that differ are read."""
    behind = place_of(cursor)
    summary = _summary(deps, dataset, before, after)
    found = list(islice(_changes(deps, dataset, before, after, summary, behind), limit + 1))
    shown = found[:limit]
    return wire.Diff(
        before=before.id,
        after=after.id,
        added=summary.added,
        removed=summary.removed,
        changed=summary.changed,
        renamed=summary.renamed,
        added_bytes=summary.added_bytes,
        removed_bytes=summary.removed_bytes,
        renamed_bytes=summary.renamed_bytes,
        renames_complete=summary.complete,
        items=[_change(change) for change in shown],
        next=listing.encode(shown[-1].path.hex()) if len(found) > limit else None,
    )


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


def _change(change: TreeChange) -> wire.Change:
    return wire.Change(
        path=to_text(change.path),
        change=change.change,
        size_before=change.before.size if change.before else None,
        size_after=change.after.size if change.after else None,
        path_before=to_text(change.before.path) if change.before and change.change == "renamed" else None,
    )
