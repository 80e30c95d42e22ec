"""What a ref means: a branch, a tag, or the first digits of a commit's id; and moving branches."""

from __future__ import annotations

import re
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import commits
from millpond.db.datasets import PendingRecord
from millpond.errors import BadRequest, NotFound, RefMoved
from millpond.lake.records import Move
from millpond.model.dataset import Commit, Dataset, Ref, RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.services import access, records
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of

_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_NAMED_CANDIDATES = 5


def resolve(tx: Connection, dataset: Dataset, text: str | None) -> Commit:
    """The commit that `text` names: a branch or tag of that name, else the one commit whose id begins so.

    NotFound with the nearest refs; BadRequest naming the candidates when several commits begin so.
    """
    name = text or DEFAULT_BRANCH
    ref = commits.find_ref(tx, dataset.id, name)
    if ref is not None:
        return _get(tx, ref.commit_id)
    found = commits.by_prefix(tx, dataset.id, name, limit=_NAMED_CANDIDATES) if _PREFIX.fullmatch(name) else []
    if len(found) > 1:
        shown = ", ".join(commit.id[: len(name) + 8] for commit in found)
        raise BadRequest(
            f"Several commits of {dataset.written} begin with {name!r}: {shown}.",
            hint="Give more digits.",
            candidates=[commit.id for commit in found],
        )
    if found:
        return found[0]
    raise _not_found(tx, dataset, name)


def head_commit(tx: Connection, dataset: Dataset, branch: str) -> Commit | None:
    """The newest commit of a branch; None when there is no such branch."""
    ref = commits.find_ref(tx, dataset.id, branch)
    return _get(tx, ref.commit_id) if ref else None


def reserve_move(
    tx: Connection,
    dataset: Dataset,
    *,
    branch: str,
    commit: Commit,
    expected: str | None,
    by: str,
    now: datetime,
) -> PendingRecord:
    """The first transaction of moving a branch to a commit that is durable. RefMoved unless it is at `expected`."""
    records.wait_for_lock(tx, dataset.id, branch)
    current = commits.find_ref(tx, dataset.id, branch)
    at = current.commit_id if current else None
    if current is not None and current.type is RefType.TAG:
        raise BadRequest(f"{branch!r} is a tag of {dataset.written}, and tags do not move.")
    if at != expected:
        raise moved(dataset, branch, at)
    move = Move(ref=branch, type=RefType.BRANCH, commit=commit.id, previous=at)
    return records.reserve(tx, dataset, move, lock=branch, by=by, now=now)


def moved(dataset: Dataset, branch: str, head: str | None) -> RefMoved:
    where = f"is at {head[:8]}" if head else "does not exist"
    return RefMoved(
        f"Branch {branch!r} of {dataset.written} {where}: somebody else committed first.",
        hint="Take the new state first, then commit again.",
        head=head,
        branch=branch,
    )


def list_refs(deps: Deps, dataset: Dataset, *, limit: int, cursor: str | None) -> Listing[Ref]:
    with deps.db.read() as tx:
        found = commits.refs(tx, dataset.id, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda ref: ref.name)


def _get(tx: Connection, commit_id: str) -> Commit:
    commit = commits.get(tx, commit_id)
    assert commit is not None  # refs have a foreign key
    return commit


def _not_found(tx: Connection, dataset: Dataset, name: str) -> NotFound:
    names = [ref.name for ref in commits.refs(tx, dataset.id, limit=1000)]
    if not names:
        return NotFound(
            f"Dataset {dataset.written} has no commits yet.",
            hint="`mill data sync` makes the first one.",
            noun="ref",
            name=name,
            near=[],
        )
    return access.not_found("ref", name, names)
