"""Accepting a commit: its tree is checked first, what it needs is durable next, and a branch moves to it last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import blobs, commits, datasets, uploads
from millpond.db.datasets import PendingRecord
from millpond.errors import Incomplete
from millpond.lake.commits import encode_commit, new_commit
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, DatasetKind, PackState
from millpond.model.people import Actor
from millpond.services import access, audit, records, refs
from millpond.services.deps import Deps
from millpond.services.tree_check import CheckedTree, check_tree


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tree whose pages are in the lake, as the next commit of a branch."""

    tree: str
    branch: str
    # Where the branch must still be; None: it must not exist yet.
    expected: str | None
    # The first one is the commit whose tree this one was made from.
    parents: Sequence[Commit]
    message: str
    # Whose packs it may build on, beside those that were checked.
    owner: str
    upload_id: str | None = None
    lineage: Mapping[str, Any] = field(default_factory=dict)


def accept(deps: Deps, actor: Actor, dataset: Dataset, proposal: Proposal) -> Commit:
    """Check the tree and make it the newest commit of its branch.

    Incomplete names what must be sent first, BadFormat what is wrong with the tree, RefMoved (`details["head"]`)
    that somebody else came first; nothing has changed then.
    """
    settled = proposal.parents[0].tree if proposal.parents else None
    checked = check_tree(deps, dataset.project_id, proposal.owner, root=proposal.tree, settled=settled)
    commit = new_commit(
        dataset_id=dataset.id,
        tree=proposal.tree,
        parents=[parent.id for parent in proposal.parents],
        author=actor.name,
        time=deps.clock.now(),
        message=proposal.message,
        files=checked.root.files,
        bytes=checked.root.size,
        lineage=proposal.lineage,
    )
    deps.store.put(ProjectKeys(dataset.project_id).commit(commit.id), encode_commit(commit))
    _make_visible(deps, actor, dataset, proposal, checked, commit)
    return commit


def _make_visible(
    deps: Deps, actor: Actor, dataset: Dataset, proposal: Proposal, checked: CheckedTree, commit: Commit
) -> None:
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        # First of all: rows that refer to the dataset share a lock on it, and two who share it cannot both go on.
        records.wait_for_lock(tx, dataset.id, proposal.branch)
        if datasets.get(tx, dataset.id) is None:
            raise access.not_found("dataset", dataset.name)
        _check_packs_live(tx, dataset.project_id, checked)
        blobs.insert_pages(tx, dataset.project_id, checked.pages)
        blobs.set_page_packs(tx, dataset.project_id, checked.packs)
        commits.insert(tx, commit)
        if proposal.upload_id is not None:
            uploads.touch(tx, proposal.upload_id, now)
        pending = refs.reserve_move(
            tx, dataset, branch=proposal.branch, commit=commit, expected=proposal.expected, by=actor.name, now=now
        )
        if dataset.kind is DatasetKind.DATA:
            _audit(tx, deps, actor, dataset, commit, proposal.branch)
        return pending

    records.write(deps, prepare)
    announce(deps, dataset, commit)


def announce(deps: Deps, dataset: Dataset, commit: Commit) -> None:
    """Tell pages that a branch has come to this commit."""
    data = {
        "project": dataset.project,
        "id": dataset.id,
        "what": "commit",
        "dataset": dataset.name,
        "commit": commit.id,
    }
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)


def _check_packs_live(tx: Connection, project_id: str, checked: CheckedTree) -> None:
    """In the transaction that makes the commit visible: packs that were condemned meanwhile must be sent again."""
    needed = {pack_id for packs in checked.packs.values() for pack_id in packs}
    live = {pack.id for pack in uploads.packs(tx, project_id, needed) if pack.state is PackState.LIVE}
    if lost := sorted(needed - live):
        raise Incomplete(f"{len(lost)} packs are no longer there; send their content again.", packs=lost)


def _audit(tx: Connection, deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, branch: str) -> None:
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action="dataset.commit",
        subject=dataset.written,
        project_id=dataset.project_id,
        details={"commit": commit.id, "branch": branch},
    )
