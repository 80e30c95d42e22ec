"""Elastic computes: everybody sees them, administrators change them."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.elastic import ElasticNode, ElasticSpec, ElasticState
from millpond.services.computes import elastic
from millpond.services.computes.elastic import ElasticView
from millpond.wire import elastic as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/elastic", tags=["elastic"])


@router.get("")
def list_elastic(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Elastic]:
    return page(elastic.list_all(deps, limit=limit, cursor=cursor), _elastic)


@router.post("", status_code=201)
def create_elastic(body: wire.ElasticCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Elastic:
    """Refused if a compute or an elastic compute has the name, or the provisioner's commands are not on the server."""
    return _elastic(elastic.create(deps, actor, body.name, _spec(body)))


@router.get("/{elastic_name}")
def get_elastic(elastic_name: str, actor: SignedIn, deps: DepsOf) -> wire.Elastic:
    return _elastic(elastic.get(deps, elastic_name))


@router.put("/{elastic_name}")
def put_elastic(elastic_name: str, body: wire.ElasticPut, actor: SiteAdmin, deps: DepsOf) -> wire.Elastic:
    """New, or replaced as a whole. Machines that are there stay, within the new limits."""
    return _elastic(elastic.put(deps, actor, elastic_name, _spec(body)))


@router.delete("/{elastic_name}", status_code=204)
def delete_elastic(elastic_name: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while it has machines."""
    elastic.remove(deps, actor, elastic_name)


def _spec(body: wire.ElasticPut) -> ElasticSpec:
    return ElasticSpec(**{name: getattr(body, name) for name in wire.ElasticPut.model_fields})


def _elastic(view: ElasticView) -> wire.Elastic:
    value = view.elastic
    return wire.Elastic(
        **asdict(value.spec),
        name=value.name,
        ready=view.count(ElasticState.READY),
        starting=view.count(ElasticState.CREATING, ElasticState.STARTING),
        deleting=view.count(ElasticState.DELETING),
        failures=value.failures,
        retry_at=value.retry_at,
        problem=value.problem,
        nodes=[_node(node) for node in view.nodes],
        created_at=value.created_at,
        created_by=value.created_by,
        changed_at=value.changed_at,
        changed_by=value.changed_by,
    )


def _node(node: ElasticNode) -> wire.ElasticNode:
    return wire.ElasticNode(
        name=node.name,
        state=node.state.value,
        reason=node.reason,
        problem=node.problem,
        compute=node.compute_id,
        created_at=node.created_at,
        ready_at=node.ready_at,
        deleting_at=node.deleting_at,
        gone_at=node.gone_at,
        price_per_hour=node.price_per_hour,
    )
