"""Links: what people say of the ways between places, beside what was measured over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import lake_replicas, links, volumes
from millpond.errors import BadRequest
from millpond.model.people import Actor
from millpond.model.topology import LAKE, Bandwidth, Link, ordered
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.places import geography
from millpond.services.places.geography import Geography
from millpond.services.places.limit_views import LimitView, limit_view
from millpond.services.places.sites import find as find_site


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link by the names of its ends: what was said of it, what was measured, and whether it makes them near."""

    a: str
    b: str
    bits_per_second: int | None
    latency_ms: float | None
    price_per_gb: float | None
    set_at: datetime | None
    measured_bytes_per_second: float | None
    measured_at: datetime | None
    near: bool
    reason: str
    limit: LimitView | None = None


def put(
    deps: Deps,
    actor: Actor,
    a: str,
    b: str,
    *,
    bits_per_second: int | None = None,
    latency_ms: float | None = None,
    price_per_gb: float | None = None,
) -> LinkView:
    """Say what a link is; what was said before is forgotten, but not its limit."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        a_id, b_id = ends(tx, a, b)
        before = links.find(tx, a_id, b_id)
        links.put(tx, Link(a_id, b_id, bits_per_second, latency_ms, price_per_gb, set_at=now))
        said = {"bits_per_second": bits_per_second, "latency_ms": latency_ms, "price_per_gb": price_per_gb}
        was = audit.values_of(before, *said) if before else None
        audit.record(tx, now=now, actor=actor, action="link.set", subject=f"{a} {b}", before=was, after=said)
        view = found(tx, deps, a_id, b_id)
    tell(deps)
    return view


def remove(deps: Deps, actor: Actor, a: str, b: str) -> None:
    now = deps.clock.now()
    with deps.db.write() as tx:
        between = ends(tx, a, b)
        gone = links.find(tx, *between)
        if gone is None or not links.delete(tx, *between):
            raise access.not_found("link", f"{a} {b}")
        was = audit.values_of(gone, "bits_per_second", "latency_ms", "price_per_gb", "limit")
        audit.record(tx, now=now, actor=actor, action="link.remove", subject=f"{a} {b}", before=was)
    tell(deps)


def list_all(deps: Deps) -> list[LinkView]:
    """Those somebody spoke of, and those something was measured over."""
    with deps.db.read() as tx:
        return views(tx, geography.of_now(tx, deps))


def views(tx: Connection, places: Geography) -> list[LinkView]:
    """By the names of their ends, the lake's first."""
    measured = _measured(tx)
    pairs = places.links.keys() | measured.keys()
    all_links = [_view(places, pair, measured.get(pair, ())) for pair in pairs]
    return sorted(all_links, key=lambda link: (link.a != LAKE, link.a, link.b))


def ends(tx: Connection, a: str, b: str) -> tuple[str, str]:
    """The ids of two ends by their names."""
    if a == b:
        raise BadRequest("A link needs two different ends.", hint="Give two sites, or `lake` and a site.")
    return _end(tx, a), _end(tx, b)


def _end(tx: Connection, name: str) -> str:
    return LAKE if name == LAKE else find_site(tx, name).id


def found(tx: Connection, deps: Deps, a_id: str, b_id: str) -> LinkView:
    """A link that there is, by the ids of its ends."""
    places = geography.of_now(tx, deps)
    names = {places.names.get(a_id, a_id), places.names.get(b_id, b_id)}
    return next(link for link in views(tx, places) if {link.a, link.b} == names)


def _measured(tx: Connection) -> dict[tuple[str, str], list[Bandwidth]]:
    """What fills brought, by the ends of the link they came over."""
    at = {volume.id: volume.site_id for volume in volumes.all_of(tx)}
    found: dict[tuple[str, str], list[Bandwidth]] = {}
    copies = lake_replicas.by_id(tx)
    for one in links.bandwidths(tx):
        if one.source_id in copies:
            continue  # no end of a link
        found.setdefault(ordered(one.source_id, at[one.volume_id]), []).append(one)
    return found


def _view(places: Geography, pair: tuple[str, str], measured: Sequence[Bandwidth]) -> LinkView:
    link = places.links.get(pair)
    best = max(measured, key=lambda one: one.bytes_per_second, default=None)
    near = places.near(*pair)
    a, b = (places.names.get(end, end) for end in pair)
    a, b = (a, b) if a == LAKE else sorted((a, b))
    return LinkView(
        a=a,
        b=b,
        bits_per_second=link.bits_per_second if link else None,
        latency_ms=link.latency_ms if link else None,
        price_per_gb=link.price_per_gb if link else None,
        set_at=link.set_at if link else None,
        measured_bytes_per_second=best.bytes_per_second if best else None,
        measured_at=best.measured_at if best else None,
        near=near.near and a != LAKE,
        reason="commits come from the lake" if a == LAKE else near.reason,
        limit=limit_view(link.limit if link else None, places.now),
    )


def tell(deps: Deps) -> None:
    """Agents look at other volumes now, and jobs may run elsewhere."""
    deps.events.publish("computes", project_id=None, data={"id": "links", "what": "changed"})
    deps.events.wake("agents")
    deps.events.wake("schedule")
