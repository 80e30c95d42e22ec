"""Merging branches and undoing commits, path by path; where both sides changed a path differently, nothing happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import commits, projects
from millpond.db.datasets import PendingRecord
from millpond.decide.ancestry import parting
from millpond.errors import Conflict, MergeConflict
from millpond.lake.branch_retry import on_newest
from millpond.lake.merge import Merged, PathConflict, merge_trees
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import DEFAULT_BRANCH, check_ref_name
from millpond.model.path import to_text
from millpond.model.people import Actor
from millpond.model.quantity import format_count
from millpond.services.commits import records, refs
from millpond.services.commits.accept import announce
from millpond.services.commits.changes.branch import Changes, change_branch
from millpond.services.datasets.reading import pages_of
from millpond.services.deps import Deps
from millpond.services.people import audit

# Conflicts that are named; the rest is counted.
_NAMED = 1000
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Merge:
    """Bring what `source` (any ref) changed since the two parted to the branch `into`."""

    source: str
    into: str = DEFAULT_BRANCH
    expected: str | None = None  # the commit `into` must still be at; None: whatever it is at
    message: str = ""


@dataclass(frozen=True, slots=True)
class Revert:
    """Undo what one commit changed, as a new commit of `branch`."""

    commit: str
    branch: str = DEFAULT_BRANCH
    expected: str | None = None  # the commit the branch must still be at; None: whatever it is at
    message: str = ""


def merge(deps: Deps, actor: Actor, dataset: Dataset, asked: Merge) -> Commit:
    """What `source` changed since the two parted, on top of the branch `into`; its newest commit afterwards.

    The branch simply moves where it has nothing of its own, and stays where it has the source already. MergeConflict
    names the paths both sides changed; RefMoved that the branch is not at `expected`. Nothing has changed then.
    """
    refs.refuse_system(dataset)
    check_ref_name(asked.into)
    with deps.db.read() as tx:
        source = refs.resolve(tx, dataset, asked.source)

    def attempt() -> Commit:
        return _merge(deps, actor, dataset, source, asked)

    return on_newest(attempt) if asked.expected is None else attempt()


def _merge(deps: Deps, actor: Actor, dataset: Dataset, source: Commit, asked: Merge) -> Commit:
    with deps.db.read() as tx:
        head = refs.branch_head(tx, dataset, asked.into)
        parted = parting(source, head, lambda ids: commits.get_many(tx, ids))
    common = parted.common
    if common is not None and common.id == source.id:
        return head  # also when this was asked before and the answer was lost
    if asked.expected is not None and head.id != asked.expected:
        raise refs.moved(dataset, asked.into, head.id)
    if common is not None and common.id == head.id:
        _move(deps, actor, dataset, asked.into, head, source)
        return source
    if common is None and parted.is_cut:
        # From nothing, what one side has removed since would be something that the other side has added.
        raise Conflict(
            f"The common ancestor of {asked.source} and {asked.into} no longer exists: it was removed "
            "by the retention rule.",
            hint="Nothing was changed. Copy the files you want by hand: mill data cat, mill data put.",
        )

    def plan(base: Commit | None) -> Changes:
        pages, before = pages_of(deps, dataset), common.tree if common else None
        merged = _checked(merge_trees(pages, before, source.tree, head.tree), asked.source, asked.into)
        message = asked.message or f"Merge {asked.source} into {asked.into}"
        return Changes(merged.puts, merged.removals, message, merged=source)

    return change_branch(deps, actor, dataset, branch=asked.into, expected=head.id, plan=plan)


def revert(deps: Deps, actor: Actor, dataset: Dataset, asked: Revert) -> Commit:
    """A commit that undoes what one commit changed against its (first) parent. Errors as of `merge`."""
    check_ref_name(asked.branch)
    with deps.db.read() as tx:
        undone = refs.resolve(tx, dataset, asked.commit)
        parent = commits.get(tx, undone.parents[0]) if undone.parents else None
    if undone.parents and parent is None:
        # What it changed cannot be told: against nothing, undoing it would remove every file.
        raise Conflict(
            f"The parent of commit {undone.id[:12]} no longer exists: it was removed by the retention rule.",
            hint="Nothing was changed. Restore the files by hand: mill data put, mill data rm.",
        )
    before = parent.tree if parent else None

    def plan(base: Commit | None) -> Changes:
        assert base is not None  # a dataset with a commit to undo has one to build on
        undoing = merge_trees(pages_of(deps, dataset), undone.tree, before, base.tree)
        merged = _checked(undoing, f"undoing {undone.id[:8]}", asked.branch)
        message = asked.message or f"Revert {undone.id[:12]}" + (f": {undone.message}" if undone.message else "")
        return Changes(merged.puts, merged.removals, message, origins=[before] if before else [])

    return change_branch(deps, actor, dataset, branch=asked.branch, expected=asked.expected, plan=plan)


def _move(deps: Deps, actor: Actor, dataset: Dataset, branch: str, head: Commit, to: Commit) -> None:
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        refs.lock(tx, dataset, branch)
        projects.raise_sequence(tx, dataset.project_id)
        if commits.get(tx, to.id) is None:  # removed since it was looked up: a ref must not name it
            raise refs.not_found(tx, dataset, to.id)
        pending = refs.reserve_move(tx, dataset, branch=branch, commit=to, expected=head.id, by=actor.name, now=now)
        audit.record(
            tx,
            now=now,
            actor=actor,
            action="branch.move",
            subject=f"{dataset.written}@{branch}",
            project_id=dataset.project_id,
            details={"commit": to.id, "previous": head.id},
        )
        return pending

    records.write(deps, prepare)
    announce(deps, dataset, to)


def _checked(merged: Merged, ours: str, theirs: str) -> Merged:
    if not merged.conflicts:
        return merged
    raise MergeConflict(
        f"{_counted(merged.conflicts)} changed on both sides, {ours} and {theirs}: {_shown(merged.conflicts)}.",
        hint="Nothing was changed. Resolve these paths on one side, then try again.",
        count=len(merged.conflicts),
        paths=[to_text(conflict.path) for conflict in merged.conflicts[:_NAMED]],
        conflicts=[conflict.describe(ours, theirs) for conflict in merged.conflicts[:_NAMED]],
    )


def _counted(conflicts: Sequence[PathConflict]) -> str:
    return f"{format_count(len(conflicts), 'path')} {'was' if len(conflicts) == 1 else 'were'}"


def _shown(conflicts: Sequence[PathConflict]) -> str:
    names = [repr(to_text(conflict.path)) for conflict in conflicts[:_SHOWN]]
    return ", ".join(names) + (", …" if len(conflicts) > _SHOWN else "")
