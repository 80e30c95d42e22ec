"""Sites: places where volumes and computes stand."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import sites
from millpond.db.sites import SiteCounts
from millpond.errors import NameTaken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.volume import Site
from millpond.services import access, audit
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of


def create(deps: Deps, actor: Actor, name: str) -> SiteCounts:
    now = deps.clock.now()
    site = Site(new_id(), check_name(name, "site"), now)
    try:
        with deps.db.write() as tx:
            sites.insert(tx, site)
            audit.record(tx, now=now, actor=actor, action="site.create", subject=name)
    except IntegrityError as error:
        raise NameTaken(f"There is a site {name!r} already.", hint="Choose another name.") from error
    return SiteCounts(site, agents=0, volumes=0)


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[SiteCounts]:
    with deps.db.read() as tx:
        found = sites.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.site.name)


def find(tx: Connection, name: str) -> Site:
    found = sites.find(tx, name)
    if found is None:
        raise access.not_found("site", name, sites.names(tx))
    return found
