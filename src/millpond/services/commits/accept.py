"""Accepting a commit: its tree is checked first, what it needs is durable next, and a branch moves to it last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import blobs, commits, datasets, projects, promised_pages, uploads
from millpond.db.datasets import PendingRecord
from millpond.errors import Incomplete
from millpond.lake.commits import new_commit
from millpond.model.dataset import Commit, Dataset, DatasetKind
from millpond.model.people import Actor
from millpond.model.quantity import format_count
from millpond.services.commits import records, refs
from millpond.services.commits.checks.paths import leaf_ids
from millpond.services.commits.checks.tree import CheckedTree, check_tree
from millpond.services.commits.packs.stable import verify_shared
from millpond.services.commits.packs.trust import NAMED, check_packs, scope_of
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps
from millpond.services.people import access, audit


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
    # Further trees that entries were taken from, beside those of the parents.
    origins: Sequence[str] = ()
    # Called in the transaction that makes the commit certain; what it raises keeps the commit from being made.
    noted_by: Callable[[Connection, Commit], None] | None = None


def accept(deps: Deps, actor: Actor, dataset: Dataset, proposal: Proposal) -> Commit:
    """Check the tree and make it the newest commit of its branch.

    Incomplete names what must be sent first, BadFormat what is wrong with the tree, RefMoved (`details["head"]`)
    that somebody else came first; nothing has changed then.
    """
    checked = check(deps, dataset, proposal)
    return make_visible(deps, actor, dataset, proposal, checked)


def check(deps: Deps, dataset: Dataset, proposal: Proposal) -> CheckedTree:
    """The first step: everything is looked at, and locators are written. Nothing is kept because of it yet."""
    earlier = _earlier_trees(proposal)
    settled = earlier[0] if earlier else None
    scope = scope_of(deps, dataset.project_id, proposal.owner, earlier)
    try:
        return check_tree(deps, dataset.project_id, proposal.owner, root=proposal.tree, settled=settled, scope=scope)
    except Incomplete as error:
        if error.details.get("pages") or not _take_over(deps, dataset, proposal):
            raise
    return check_tree(deps, dataset.project_id, proposal.owner, root=proposal.tree, settled=settled, scope=scope)


def _take_over(deps: Deps, dataset: Dataset, proposal: Proposal) -> bool:
    """Make what entries of earlier trees rest on something that new pages may rest on, too. False if it is bad.

    Who changes one path of a page need not have what its other paths hold, and so cannot send it.
    """
    pages = ProjectPages(deps.store, deps.pages, dataset.project_id)
    trees = _earlier_trees(proposal)
    rewritten = {leaf for root in trees for leaf in leaf_ids(pages, root)} - leaf_ids(pages, proposal.tree)
    return verify_shared(deps, dataset.project_id, proposal.owner, rewritten)


def _earlier_trees(proposal: Proposal) -> list[str]:
    """Accepted trees that entries of this one were taken from; the first one is what most of it comes from."""
    return [*(parent.tree for parent in proposal.parents), *proposal.origins]


def make_visible(deps: Deps, actor: Actor, dataset: Dataset, proposal: Proposal, checked: CheckedTree) -> Commit:
    """The second step: the branch moves, unless something of the tree was removed since the first one."""
    commit = new_commit(
        dataset_id=dataset.id,
        tree=proposal.tree,
        parents=[parent.id for parent in proposal.parents],
        author=actor.name,
        time=deps.clock.now(),
        message=proposal.message,
        files=checked.root.files,
        bytes=checked.root.size,
        lineage=_lineage(proposal, checked),
    )
    now = deps.clock.now()

    def prepare(tx: Connection) -> PendingRecord:
        # First of all: rows that refer to the dataset share a lock on it, and two who share it cannot both go on.
        records.wait_for_lock(tx, dataset.id, proposal.branch)
        if datasets.get(tx, dataset.id) is None:
            raise access.not_found("dataset", dataset.name)
        keep(tx, dataset.project_id, checked)
        commits.insert(tx, commit)
        if proposal.upload_id is not None:
            uploads.touch(tx, proposal.upload_id, now)
        pending = refs.reserve_move(
            tx, dataset, branch=proposal.branch, commit=commit, expected=proposal.expected, by=actor.name, now=now
        )
        if proposal.noted_by is not None:
            proposal.noted_by(tx, commit)
        if dataset.kind is DatasetKind.DATA:
            details = {"commit": commit.id, "branch": proposal.branch}
            audit.record_dataset(tx, deps, actor, "dataset.commit", dataset, **details)
        return pending

    records.write(deps, prepare)
    announce(deps, dataset, commit)
    return commit


def _lineage(proposal: Proposal, checked: CheckedTree) -> Mapping[str, Any]:
    """What was proposed; and which connections it needs to be read, for a tree with external entries."""
    names = sorted(checked.root.external)
    return {**proposal.lineage, **({"external": names} if names else {})}


def announce(deps: Deps, dataset: Dataset, commit: Commit) -> None:
    """Tell pages, and what follows branches, that one has come to this commit."""
    data = {
        "project": dataset.project,
        "id": dataset.id,
        "what": "commit",
        "dataset": dataset.name,
        "commit": commit.id,
    }
    deps.events.publish("datasets", project_id=dataset.project_id, data=data)
    deps.events.wake("branches")


def keep(tx: Connection, project_id: str, checked: CheckedTree) -> None:
    """In the transaction that makes the commit visible: all that it needs is there and stays.

    Incomplete names what was removed since the tree was checked. Raising the sequence comes first: no collection
    changes anything of the project from here to the end of the transaction.
    """
    projects.raise_sequence(tx, project_id)
    _check_pages(tx, project_id, checked)
    needed = {pack_id for packs in checked.packs.values() for pack_id in packs}
    check_packs(tx, project_id, checked.packs)
    uploads.revive(tx, needed)
    new = [page.id for page in checked.pages]
    blobs.insert_pages(tx, project_id, checked.pages, checked.folders)
    promised_pages.fulfil(tx, project_id, new)
    blobs.add_page_packs(tx, project_id, checked.packs)
    blobs.drop_bad_packs(tx, project_id, checked.packs)


def _check_pages(tx: Connection, project_id: str, checked: CheckedTree) -> None:
    """Pages of earlier commits are still known, and new ones (unless somebody brought them meanwhile) as promised."""
    known = blobs.pages(tx, project_id, [*checked.reused, *checked.tokens])
    tokens = promised_pages.tokens(tx, project_id, checked.tokens)
    kept = {page_id for page_id, token in checked.tokens.items() if tokens.get(page_id) == token}
    if lost := sorted({*checked.reused, *checked.tokens} - known.keys() - kept):
        raise Incomplete(
            f"{format_count(len(lost), 'page')} disappeared during the upload; send them again.", pages=lost[:NAMED]
        )
