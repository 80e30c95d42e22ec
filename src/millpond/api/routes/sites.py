"""Sites, the links between them, and the topology as a whole."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.db.sites import SiteCounts
from millpond.services.places import links, sites, topology
from millpond.wire import cache as wire
from millpond.wire.base import Page
from millpond.wire.topology import Link, LinkPut, SiteDetail, Topology

router = APIRouter(tags=["sites"])


@router.get("/sites")
def list_sites(actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Site]:
    return page(sites.list_all(deps, limit=limit, cursor=cursor), _site)


@router.post("/sites", status_code=201)
def create_site(body: wire.SiteCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    return _site(sites.create(deps, actor, body.name))


@router.get("/sites/{site}")
def get_site(site: str, actor: SignedIn, deps: DepsOf) -> SiteDetail:
    return topology.site(deps, site)


@router.delete("/sites/{site}", status_code=204)
def remove_site(site: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while volumes or computes are there; its links go with it."""
    sites.remove(deps, actor, site)


@router.get("/links")
def list_links(actor: SignedIn, deps: DepsOf) -> Page[Link]:
    """Those somebody spoke of and those something was measured over, all of them at once."""
    return Page(items=links.list_all(deps))


@router.put("/links/{a}/{b}")
def put_link(a: str, b: str, body: LinkPut, actor: SiteAdmin, deps: DepsOf) -> Link:
    """An end is the name of a site, or `lake`."""
    return links.put(deps, actor, a, b, body)


@router.delete("/links/{a}/{b}", status_code=204)
def remove_link(a: str, b: str, actor: SiteAdmin, deps: DepsOf) -> None:
    links.remove(deps, actor, a, b)


@router.get("/topology")
def get_topology(actor: SignedIn, deps: DepsOf) -> Topology:
    return topology.topology(deps, actor)


def _site(item: SiteCounts) -> wire.Site:
    site = item.site
    return wire.Site(
        id=site.id, name=site.name, created_at=site.created_at, computes=item.computes, volumes=item.volumes
    )
