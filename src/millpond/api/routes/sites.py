"""Sites."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.db.sites import SiteCounts
from millpond.services import sites
from millpond.wire import cache as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/sites", tags=["sites"])


@router.get("")
def list_sites(actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None) -> Page[wire.Site]:
    return page(sites.list_all(deps, limit=limit, cursor=cursor), _site)


@router.post("", status_code=201)
def create_site(body: wire.SiteCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Site:
    return _site(sites.create(deps, actor, body.name))


def _site(item: SiteCounts) -> wire.Site:
    site = item.site
    return wire.Site(id=site.id, name=site.name, created_at=site.created_at, agents=item.agents, volumes=item.volumes)
