"""Commits: made from uploads, their history, directories, differences, and URLs of their objects.

A ref may hold slashes, so it is matched as a path; the routes with something behind it come first.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, InProject, Member, Scope, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.routes.datasets import find
from millpond.api.shapes import data as shapes
from millpond.model.dataset import Commit, Dataset
from millpond.model.lineage import LineageDirection
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import ActorKind, Role
from millpond.services.caches import holds as cache_holds
from millpond.services.commits import commits
from millpond.services.commits.changes import edits, merges
from millpond.services.commits.commits import NewCommit
from millpond.services.datasets import diffs, lineage, reading, urls
from millpond.services.deps import Deps
from millpond.services.lake import verification
from millpond.services.workspaces.diffs import kept_snapshot
from millpond.wire import data as wire
from millpond.wire import lineage as wire_lineage
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}/datasets/{dataset}", tags=["commits"])

Committer = Annotated[Scope, InProject(Role.MEMBER, placements=True, workspaces=True)]
Reader = Annotated[Scope, InProject(Role.VIEWER, placements=True, agents=True, workspaces=True)]
TreePath = Annotated[str, Query(max_length=20_000, description="In text form: \\xNN for bytes that are not UTF-8.")]


@router.get("/commits")
def list_commits(
    dataset: str,
    scope: Viewer,
    deps: DepsOf,
    ref: str | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Commit]:
    """The history of a ref, newest first. Without one it is that of `main`; of code and outputs, every commit."""
    found = reading.history(deps, find(deps, scope, dataset), ref=ref, limit=limit, cursor=cursor)
    return page(found, shapes.commit)


@router.post("/commits", status_code=201)
def create_commit(dataset: str, body: wire.CommitCreate, scope: Committer, deps: DepsOf) -> wire.Commit:
    """Refused with `incomplete` while something it names has not been sent, with `ref_moved` if others came first."""
    return shapes.commit(
        reading.commit_view(
            deps, *commits.create(deps, scope.actor, scope.project, dataset, NewCommit(**body.model_dump()))
        )
    )


@router.get("/commits/{ref:path}/entries")
def list_entries(
    dataset: str,
    ref: str,
    scope: Viewer,
    deps: DepsOf,
    path: TreePath = "",
    start: Annotated[str, Query(max_length=4000, description="Only names from this one on, or its beginning.")] = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.TreeEntry]:
    """One directory, in the order of the bytes of its names."""
    found, commit = commit_of(deps, scope, dataset, ref)
    cache_holds.looked_at(deps, scope.actor, commit.id)
    part = reading.entries(deps, found, commit, path=path, limit=limit, cursor=cursor, start=start)
    return page(part, wire.TreeEntry.model_validate)


@router.post("/commits/{ref:path}/urls")
def sign_urls(dataset: str, ref: str, body: wire.UrlsRequest, scope: Reader, deps: DepsOf) -> wire.Urls:
    """Agents get what they fill or verify, jobs their inputs, people what their role shows them."""
    found, commit = commit_of(deps, scope, dataset, ref)
    signed = urls.sign(deps, scope.actor, found, commit, urls.UrlsWanted(**body.model_dump()))
    return wire.Urls.model_validate(signed)


@router.get("/commits/{ref:path}/verification")
def get_verification(dataset: str, ref: str, scope: Viewer, deps: DepsOf) -> wire.Verification:
    """How far the server has read the commit's content back and checked it."""
    found = verification.verification(deps, *commit_of(deps, scope, dataset, ref))
    return wire.Verification.model_validate(found)


@router.get("/commits/{ref:path}/lineage")
def get_lineage(
    dataset: str,
    ref: str,
    scope: Viewer,
    deps: DepsOf,
    direction: LineageDirection = LineageDirection.UP,
    depth: Annotated[int, Query(ge=1, le=lineage.MOST_DEPTH, description="Maximum distance in commits.")] = 3,
    limit: Limit = DEFAULT_LIMIT,
) -> wire_lineage.Lineage:
    """What made the commit (`up`), or what was made from it (`down`), the nearest first."""
    found, commit = commit_of(deps, scope, dataset, ref)
    seen = lineage.lineage(deps, scope.actor, found, commit, direction, depth=depth, limit=limit)
    return wire_lineage.Lineage.model_validate(seen)


@router.get("/commits/{ref:path}")
def get_commit(dataset: str, ref: str, scope: Reader, deps: DepsOf) -> wire.Commit:
    found, commit = commit_of(deps, scope, dataset, ref)
    urls.check_may_know(deps, scope.actor, commit)
    return shapes.commit(reading.commit_view(deps, found, commit))


@router.get("/diff")
def get_diff(
    dataset: str,
    before: str,
    after: str,
    scope: Viewer,
    deps: DepsOf,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> wire.Diff:
    """Added, removed, changed and renamed paths between two refs."""
    found, old = commit_of(deps, scope, dataset, before)
    _, new = commit_of(deps, scope, dataset, after)
    return shapes.diff(diffs.diff(deps, found, old, new, limit=limit, cursor=cursor))


@router.post("/edits", status_code=201)
def create_edit(dataset: str, body: wire.Edit, scope: Member, deps: DepsOf) -> wire.Commit:
    """Single files put or removed as a commit; the branch's newest commit if it holds all that already."""
    found = find(deps, scope, dataset)
    return shapes.commit(
        reading.commit_view(deps, found, edits.edit(deps, scope.actor, scope.project, found, _edit(body)))
    )


@router.post("/merge", status_code=201)
def merge_branch(dataset: str, body: wire.Merge, scope: Member, deps: DepsOf) -> wire.Commit:
    """The branch's newest commit afterwards. Refused with `merge_conflict` if both sides changed the same paths."""
    found = find(deps, scope, dataset)
    return shapes.commit(
        reading.commit_view(deps, found, merges.merge(deps, scope.actor, found, merges.Merge(**body.model_dump())))
    )


@router.post("/revert", status_code=201)
def revert_commit(dataset: str, body: wire.Revert, scope: Member, deps: DepsOf) -> wire.Commit:
    """Refused with `merge_conflict` if the paths were changed again since."""
    found = find(deps, scope, dataset)
    return shapes.commit(
        reading.commit_view(deps, found, merges.revert(deps, scope.actor, found, merges.Revert(**body.model_dump())))
    )


def commit_of(deps: Deps, scope: Scope, dataset: str, ref: str) -> tuple[Dataset, Commit]:
    """A snapshot of a workspace only for those who may use that."""
    if dataset == WORKSPACE_DATASET and scope.actor.kind is not ActorKind.WORKSPACE:
        return kept_snapshot(deps, scope.actor, scope.project, ref)
    found = find(deps, scope, dataset)
    return found, reading.get_commit(deps, found, ref)


def _edit(body: wire.Edit) -> edits.Edit:
    return edits.Edit(
        branch=body.branch,
        expected=body.expected,
        message=body.message,
        upload=body.upload,
        puts=[edits.Put(put.path, put.kind, put.size, put.content, put.digest) for put in body.puts],
        removes=body.removes,
        recursive=body.recursive,
    )
