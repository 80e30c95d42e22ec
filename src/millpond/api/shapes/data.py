"""Datasets, commits and differences as the wire shows them."""

from __future__ import annotations

from millpond.db.caches import CachedView
from millpond.model.path import to_text
from millpond.model.tree import TreeChange
from millpond.services.datasets import diffs
from millpond.services.datasets.datasets import DatasetView
from millpond.services.datasets.reading import CommitView
from millpond.wire import data as wire


def dataset(view: DatasetView) -> wire.Dataset:
    card, found = view.card, view.card.dataset
    return wire.Dataset(
        id=found.id,
        project=found.project,
        name=found.name,
        kind=found.kind,
        description=found.description,
        created_at=found.created_at,
        created_by=found.created_by,
        active_at=found.active_at,
        members=list(view.members),
        commits=card.commits,
        cached_commits=card.cached_commits,
        bytes=card.bytes,
        files=card.files,
        head=card.head,
        deleted_at=card.deleted_at,
        retention=wire.Retention(**card.retention) if card.retention else None,
        cache_idle_seconds=card.cache_idle_seconds,
        read_only=card.conflict,
    )


def commit(view: CommitView) -> wire.Commit:
    found = view.commit
    return wire.Commit(
        id=found.id,
        dataset=view.dataset.written,
        dataset_id=view.dataset.id,
        project_id=view.dataset.project_id,
        tree=found.tree,
        parents=list(found.parents),
        author=found.author,
        time=found.time,
        message=found.message,
        files=found.files,
        bytes=found.bytes,
        lineage=dict(found.lineage),
        refs=list(view.refs),
        cached_on=[_cached_on(one) for one in view.cached],
        jobs=[wire.CommitJob(id=job.id, name=job.name, number=job.number) for job in view.jobs],
    )


def diff(found: diffs.Diff) -> wire.Diff:
    summary = found.summary
    return wire.Diff(
        before=found.before,
        after=found.after,
        added=summary.added,
        removed=summary.removed,
        changed=summary.changed,
        renamed=summary.renamed,
        added_bytes=summary.added_bytes,
        removed_bytes=summary.removed_bytes,
        renamed_bytes=summary.renamed_bytes,
        renames_complete=summary.complete,
        items=[_change(change) for change in found.changes],
        next=found.next,
    )


def _cached_on(view: CachedView) -> wire.CachedOn:
    row = view.cached
    return wire.CachedOn(
        cached_id=row.id, volume=view.volume, state=row.state.value, done_bytes=row.done_bytes, bytes=row.bytes
    )


def _change(change: TreeChange) -> wire.Change:
    return wire.Change(
        path=to_text(change.path),
        change=change.change,
        size_before=change.before.size if change.before else None,
        size_after=change.after.size if change.after else None,
        path_before=to_text(change.before.path) if change.before and change.change == "renamed" else None,
    )
