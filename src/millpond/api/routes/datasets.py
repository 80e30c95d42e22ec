"""Datasets: cards of the hub, its header, and the refs of each."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import Admin, DepsOf, Member, Scope, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import data as shapes
from millpond.model.dataset import Dataset, DatasetKind
from millpond.services.commits import refs
from millpond.services.datasets import dataset_bin, dataset_caches, datasets
from millpond.services.deps import Deps
from millpond.wire import data as wire
from millpond.wire.base import Page

router = APIRouter(tags=["datasets"])


@router.get("/datasets")
def list_datasets(
    actor: SignedIn,
    deps: DepsOf,
    project: Annotated[str | None, Query(description="Only those of this project.")] = None,
    search: Annotated[str, Query(max_length=200, description="Part of the name or description.")] = "",
    deleted: Annotated[bool, Query(description="Deleted ones, most recently deleted first.")] = False,
    kind: Annotated[DatasetKind, Query(description="Only data, or the code and outputs of jobs.")] = (DatasetKind.DATA),
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Dataset]:
    """Those of all projects one has a role in, by project and name."""
    if deleted:
        binned = dataset_bin.list_deleted(deps, actor, project=project, limit=limit, cursor=cursor)
        return page(binned, shapes.dataset)
    found = datasets.list_visible(deps, actor, project=project, search=search, limit=limit, cursor=cursor, kind=kind)
    return page(found, shapes.dataset)


@router.get("/datasets/totals")
def get_dataset_totals(actor: SignedIn, deps: DepsOf, project: str | None = None) -> wire.DatasetTotals:
    """Number and size of the datasets you may see or of one project, and the connected volumes."""
    return wire.DatasetTotals.model_validate(datasets.totals(deps, actor, project))


@router.post("/projects/{project}/datasets", status_code=201)
def create_dataset(body: wire.DatasetCreate, scope: Member, deps: DepsOf) -> wire.Dataset:
    made = datasets.create(deps, scope.actor, scope.project, name=body.name, description=body.description)
    return shapes.dataset(datasets.card(deps, made))


@router.get("/projects/{project}/datasets/{dataset}")
def get_dataset(dataset: str, scope: Viewer, deps: DepsOf) -> wire.Dataset:
    return shapes.dataset(datasets.card(deps, find(deps, scope, dataset)))


@router.patch("/projects/{project}/datasets/{dataset}")
def change_dataset(dataset: str, body: wire.DatasetChange, scope: Member, deps: DepsOf) -> wire.Dataset:
    found = find(deps, scope, dataset)
    if body.retention is not None:
        rule = None if body.retention == "off" else body.retention.model_dump(exclude_none=True)
        dataset_bin.set_retention(deps, scope.actor, found, rule)
    if body.cache_idle_seconds is not None:
        idle = None if body.cache_idle_seconds == "default" else body.cache_idle_seconds
        dataset_caches.set_idle(deps, scope.actor, found, idle)
    changed = datasets.change(deps, scope.actor, found, name=body.name, description=body.description)
    return shapes.dataset(datasets.card(deps, changed))


@router.delete("/projects/{project}/datasets/{dataset}", status_code=204)
def delete_dataset(dataset: str, scope: Admin, deps: DepsOf) -> None:
    """Into the bin. Refused while jobs that have not ended use it; the answer says which."""
    datasets.delete(deps, scope.actor, find(deps, scope, dataset))


@router.post("/projects/{project}/datasets/{dataset}/undelete")
def undelete_dataset(dataset: str, scope: Admin, deps: DepsOf) -> wire.Dataset:
    """Back from the bin: the one of that name that was deleted last, or the one of that id."""
    return shapes.dataset(datasets.card(deps, dataset_bin.undelete(deps, scope.actor, scope.project, dataset)))


@router.post("/projects/{project}/datasets/{dataset}/purge", status_code=204)
def purge_dataset(dataset: str, scope: Admin, deps: DepsOf) -> None:
    """Out of the bin for good, before its time. The next collection gives the room back."""
    dataset_bin.purge(deps, scope.actor, scope.project, dataset)


@router.get("/projects/{project}/datasets/{dataset}/refs")
def list_refs(
    dataset: str, scope: Viewer, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Ref]:
    found = refs.list_refs(deps, find(deps, scope, dataset), limit=limit, cursor=cursor)
    return page(found, wire.Ref.model_validate)


@router.post("/projects/{project}/datasets/{dataset}/refs", status_code=201)
def create_ref(dataset: str, body: wire.RefCreate, scope: Member, deps: DepsOf) -> wire.Ref:
    """A branch or a tag; a tag never moves."""
    found = find(deps, scope, dataset)
    made = refs.create(deps, scope.actor, found, name=body.name, type=body.type, at=body.at)
    return wire.Ref.model_validate(made)


@router.delete("/projects/{project}/datasets/{dataset}/refs/{ref:path}", status_code=204)
def delete_ref(
    dataset: str,
    ref: str,
    scope: Member,
    deps: DepsOf,
    expected: Annotated[str | None, Query(description="The commit it must still point to.")] = None,
) -> None:
    """The commits stay; the default branch does, too."""
    refs.delete(deps, scope.actor, find(deps, scope, dataset), name=ref, expected=expected)


def find(deps: Deps, scope: Scope, name: str) -> Dataset:
    with deps.db.read() as tx:
        found = datasets.find(tx, scope.project, name)
        datasets.refuse_workspaces(scope.actor, found)
        return found
