"""Limits of links and sites: set and removed by administrators."""

from __future__ import annotations

from sqlalchemy import Connection

from millpond.db import links as link_rows
from millpond.db import sites as site_rows
from millpond.db.sites import SiteCounts
from millpond.decide.rate_limits import check_limit
from millpond.model.people import Actor
from millpond.model.rate_limit import RateLimit
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.services.places import links, sites
from millpond.services.places.links import LinkView


def limit_link(deps: Deps, actor: Actor, a: str, b: str, limit: RateLimit) -> LinkView:
    """Set the limit of a link. What else was said of the link stays."""
    now = deps.clock.now()
    check_limit(limit)
    with deps.db.write() as tx:
        ends = links.ends(tx, a, b)
        before = _said(_limit(tx, ends))
        link_rows.put_limit(tx, *ends, limit, now)
        audit.record(
            tx, now=now, actor=actor, action="link.limit", subject=f"{a} {b}", before=before, after=_said(limit)
        )
        found = links.found(tx, deps, *ends)
    links.tell(deps)
    return found


def unlimit_link(deps: Deps, actor: Actor, a: str, b: str) -> None:
    """Remove the limit of a link; one that has none stays as it is."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        ends = links.ends(tx, a, b)
        before = _said(_limit(tx, ends))
        link_rows.put_limit(tx, *ends, None, now)
        audit.record(
            tx, now=now, actor=actor, action="link.limit", subject=f"{a} {b}", before=before, after=_said(None)
        )
    links.tell(deps)


def limit_site(deps: Deps, actor: Actor, name: str, limit: RateLimit | None) -> SiteCounts:
    """Set the limit of all that comes to a site and goes from it; None removes it."""
    now = deps.clock.now()
    if limit is not None:
        check_limit(limit)
    with deps.db.write() as tx:
        site = sites.find(tx, name)
        site_rows.put_limit(tx, site.id, limit)
        audit.record(
            tx, now=now, actor=actor, action="site.limit", subject=name, before=_said(site.limit), after=_said(limit)
        )
        found = sites.get(tx, name)
    links.tell(deps)
    return found


def _limit(tx: Connection, ends: tuple[str, str]) -> RateLimit | None:
    found = link_rows.find(tx, *ends)
    return found.limit if found else None


def _said(limit: RateLimit | None) -> dict[str, str]:
    return {"limit": str(limit) if limit else "none"}
