"""Clusters of Dask and Ray: create, list, show, scale, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Member, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import clusters as shapes
from millpond.services.clusters import clusters
from millpond.wire import clusters as wire
from millpond.wire.base import Page

router = APIRouter(tags=["clusters"])

_CLUSTER = "/projects/{project}/clusters/{cluster}"


@router.get("/clusters")
def list_clusters(
    actor: SignedIn,
    deps: DepsOf,
    project: Annotated[str | None, Query(max_length=63)] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Cluster]:
    """Of all projects one may see, by project and name."""
    found = clusters.list_clusters(deps, actor, project=project, limit=limit, cursor=cursor)
    return page(found, shapes.cluster)


@router.post("/projects/{project}/clusters", status_code=201)
def create_cluster(body: wire.ClusterCreate, scope: Member, deps: DepsOf) -> wire.Cluster:
    """A scheduler and workers, as jobs at one site. 409 `does_not_fit` if its workers could run nowhere there."""
    made = clusters.create(deps, scope.actor, scope.project, body.name, shapes.spec(body), body.site)
    return shapes.cluster(made)


@router.get(_CLUSTER)
def get_cluster(cluster: str, scope: Viewer, deps: DepsOf) -> wire.Cluster:
    """By name or id, with its history."""
    return shapes.cluster(clusters.get(deps, scope.project, cluster))


@router.post(f"{_CLUSTER}/scale")
def scale_cluster(cluster: str, body: wire.ClusterScaling, scope: Member, deps: DepsOf) -> wire.Cluster:
    """A fixed number of workers, or limits within which they follow the demand."""
    changed = clusters.scale(
        deps, scope.actor, scope.project, cluster, workers=body.workers, adapt=shapes.limits(body.adapt)
    )
    return shapes.cluster(changed)


@router.delete(_CLUSTER, status_code=204)
def delete_cluster(cluster: str, scope: Member, deps: DepsOf) -> None:
    """Retire its workers and stop its scheduler. Their jobs stay."""
    clusters.delete(deps, scope.actor, scope.project, cluster)
