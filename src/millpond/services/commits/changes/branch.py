"""Commits the server makes itself: changes to the newest tree of a branch, written as the pages they touch.

Edits, merges and reverts say what to change; here it is carried out, by the same checks as an uploaded tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits
from millpond.lake.branch_retry import on_newest
from millpond.lake.edit import edit_tree
from millpond.lake.tree import build_tree
from millpond.model.dataset import Commit, Dataset
from millpond.model.people import Actor
from millpond.model.tree import Entry
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.commits.packs.trust import owner_of
from millpond.services.commits.pages import ProjectPages
from millpond.services.commits.uploads.uploads import promise_pages
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class Changes:
    """What to do to a tree. `origins` are the trees that entries of `puts` come from, beside those of the parents."""

    puts: Sequence[Entry]
    removals: Iterable[bytes]
    message: str
    origins: Sequence[str] = ()
    # A commit that is merged: a parent beside the newest one, so there is a new commit even if nothing changes.
    merged: Commit | None = None
    upload_id: str | None = None
    lineage: Mapping[str, Any] = field(default_factory=dict)


# From the commit to build on (None: the dataset has none) to what to change in it.
Plan = Callable[[Commit | None], Changes]


def change_branch(
    deps: Deps, actor: Actor, dataset: Dataset, *, branch: str, expected: str | None, plan: Plan
) -> Commit:
    """The commit that carries out the plan on top of the branch; its newest commit if nothing was left to do.

    RefMoved unless the branch is at `expected`, where that is given: asked again with it, after the answer was
    lost, the commit that was made then is found.
    """
    refs.refuse_system(dataset)

    def attempt() -> Commit:
        with deps.db.read() as tx:
            head = _head(tx, dataset, branch)
            base = _base(tx, actor, dataset, branch, head, expected)
        return _change(deps, actor, dataset, branch, head, base, plan(base))

    return on_newest(attempt) if expected is None else attempt()


def _head(tx: Connection, dataset: Dataset, branch: str) -> Commit | None:
    """The branch's newest commit; None for the first commit of a dataset."""
    return refs.branch_head(tx, dataset, branch) if commits.refs(tx, dataset.id, limit=1) else None


def _base(
    tx: Connection, actor: Actor, dataset: Dataset, branch: str, head: Commit | None, expected: str | None
) -> Commit | None:
    """The commit to build on: the newest one, or the one before it if that may be what this request made earlier."""
    if expected is None or (head is not None and head.id == expected):
        return head
    if head is None or head.author != actor.name or head.parents[:1] != (expected,):
        raise refs.moved(dataset, branch, head.id if head else None)
    return commits.get(tx, expected)


def _change(
    deps: Deps, actor: Actor, dataset: Dataset, branch: str, head: Commit | None, base: Commit | None, changes: Changes
) -> Commit:
    parents = [parent for parent in (base, changes.merged) if parent is not None]
    tree = write_tree(deps, dataset.project_id, base.tree if base else None, changes.puts, changes.removals)
    if head is not None and head.tree == tree:
        is_unchanged = head == base and changes.merged is None
        if is_unchanged or head.parents == tuple(parent.id for parent in parents):
            return head
    if head != base:
        raise refs.moved(dataset, branch, head.id if head else None)
    proposal = Proposal(
        tree=tree,
        branch=branch,
        expected=base.id if base else None,
        parents=parents,
        message=changes.message,
        owner=owner_of(actor),
        upload_id=changes.upload_id,
        origins=changes.origins,
        lineage=changes.lineage,
    )
    return accept(deps, actor, dataset, proposal)


def write_tree(deps: Deps, project_id: str, base: str | None, puts: Sequence[Entry], removals: Iterable[bytes]) -> str:
    """The root of the tree `base` (None: an empty one) with these changes. Its pages are in the lake then."""
    pages = _WithNew(ProjectPages(deps.store, deps.pages, project_id))
    root = base if base is not None else build_tree((), pages.new.__setitem__).root
    made = edit_tree(pages, root, puts, removals, pages.new.__setitem__).root
    wanted = promise_pages(deps, project_id, list(pages.new))
    pages.stored.put_all({page_id: pages.new[page_id] for page_id in wanted})
    return made


class _WithNew:
    """Pages of the project, and those that are only about to be written."""

    def __init__(self, stored: ProjectPages) -> None:
        self.stored = stored
        self.new: dict[str, bytes] = {}

    def page(self, page_id: str) -> bytes:
        return self.new[page_id] if page_id in self.new else self.stored.page(page_id)
