"""Sites, the links between them, and the topology as a whole."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import places as shapes
from millpond.services.places import links, rate_limits, sites, topology
from millpond.wire import cache as wire
from millpond.wire.base import Page
from millpond.wire.rate_limits import RateLimitPut
from millpond.wire.topology import Link, LinkPut, SiteDetail, Topology

router = APIRouter(tags=["sites"])


@router.get("/sites")
def list_sites(actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Site]:
    return page(sites.list_all(deps, limit=limit, cursor=cursor), partial(shapes.site, now=deps.clock.now()))


@router.post("/sites", status_code=201)
def create_site(body: wire.SiteCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    return shapes.site(sites.create(deps, actor, body.name), deps.clock.now())


@router.get("/sites/{site}")
def get_site(site: str, actor: SignedIn, deps: DepsOf) -> SiteDetail:
    return shapes.site_detail(topology.site(deps, site))


@router.put("/sites/{site}")
def change_site(site: str, body: wire.SiteChange, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    given = {name: getattr(body, name) for name in body.model_fields_set}
    return shapes.changed_site(sites.change(deps, actor, site, given), deps.clock.now())


@router.delete("/sites/{site}", status_code=204)
def remove_site(site: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while volumes or computes are there; its links go with it."""
    sites.remove(deps, actor, site)


@router.put("/sites/{site}/limit")
def limit_site(site: str, body: RateLimitPut, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    """Limit all that fills bring to a site and send from it, together."""
    return shapes.site(rate_limits.limit_site(deps, actor, site, shapes.rate_limit(body)), deps.clock.now())


@router.delete("/sites/{site}/limit", status_code=204)
def unlimit_site(site: str, actor: SiteAdmin, deps: DepsOf) -> None:
    rate_limits.limit_site(deps, actor, site, None)


@router.put("/sites/{site}/placements")
def let_placements_last(site: str, body: wire.SitePlacements, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    """Set how long jobs placed from now on go on while their agent cannot reach the server."""
    return shapes.site(sites.let_placements_last(deps, actor, site, body.seconds), deps.clock.now())


@router.get("/links")
def list_links(actor: SignedIn, deps: DepsOf) -> Page[Link]:
    """Those somebody spoke of and those something was measured over, all of them at once."""
    return Page(items=[Link.model_validate(link) for link in links.list_all(deps)])


@router.put("/links/{a}/{b}")
def put_link(a: str, b: str, body: LinkPut, actor: SiteAdmin, deps: DepsOf) -> Link:
    """An end is the name of a site, or `lake`."""
    return Link.model_validate(links.put(deps, actor, a, b, **body.model_dump()))


@router.delete("/links/{a}/{b}", status_code=204)
def remove_link(a: str, b: str, actor: SiteAdmin, deps: DepsOf) -> None:
    links.remove(deps, actor, a, b)


@router.put("/links/{a}/{b}/limit")
def limit_link(a: str, b: str, body: RateLimitPut, actor: SiteAdmin, deps: DepsOf) -> Link:
    """Limit what fills bring over a link, in both directions together. What else is said of it stays."""
    return Link.model_validate(rate_limits.limit_link(deps, actor, a, b, shapes.rate_limit(body)))


@router.delete("/links/{a}/{b}/limit", status_code=204)
def unlimit_link(a: str, b: str, actor: SiteAdmin, deps: DepsOf) -> None:
    rate_limits.unlimit_link(deps, actor, a, b)


@router.get("/topology")
def get_topology(actor: SignedIn, deps: DepsOf) -> Topology:
    return shapes.whole(topology.topology(deps, actor))
