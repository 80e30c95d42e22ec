"""Sites, links, the topology, and the use of caches over time, over the API."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from millpond.client.http import Api, segment
from millpond.wire.cache import Site, SiteChange, SitePlacements
from millpond.wire.rate_limits import RateLimitPut
from millpond.wire.topology import CachesSummary, Link, LinkPut, SiteDetail, Topology, VolumeUsage


def get_site(api: Api, name: str) -> SiteDetail:
    return api.get(f"/sites/{segment(name)}", SiteDetail)


def change_site(api: Api, name: str, **changes: str | None) -> Site:
    """Set what is given, to nothing for None: `address`, `lake_endpoint` (see SiteChange)."""
    return api.send("PUT", f"/sites/{segment(name)}", Site, SiteChange.model_validate(changes))


def limit_site(api: Api, name: str, limit: RateLimitPut) -> Site:
    """Limit what fills bring to the site and send from it, together."""
    return api.send("PUT", f"/sites/{segment(name)}/limit", Site, limit, idempotent=True)


def unlimit_site(api: Api, name: str) -> None:
    api.request("DELETE", f"/sites/{segment(name)}/limit")


def let_placements_last(api: Api, name: str, seconds: int | None) -> Site:
    """Set how long jobs at the site go on while their agent cannot reach the server; None: as for all sites."""
    return api.send("PUT", f"/sites/{segment(name)}/placements", Site, SitePlacements(seconds=seconds), idempotent=True)


def remove_site(api: Api, name: str) -> None:
    api.request("DELETE", f"/sites/{segment(name)}")


def list_links(api: Api) -> Iterator[Link]:
    return api.items("/links", Link)


def put_link(api: Api, a: str, b: str, said: LinkPut) -> Link:
    """What is left out of `said` is not known any more; the limit stays."""
    return api.send("PUT", _link(a, b), Link, said, idempotent=True)


def limit_link(api: Api, a: str, b: str, limit: RateLimitPut) -> Link:
    """Limit what fills bring over the link, in both directions together. What else is said of it stays."""
    return api.send("PUT", f"{_link(a, b)}/limit", Link, limit, idempotent=True)


def unlimit_link(api: Api, a: str, b: str) -> None:
    api.request("DELETE", f"{_link(a, b)}/limit")


def remove_link(api: Api, a: str, b: str) -> None:
    api.request("DELETE", _link(a, b))


def get_topology(api: Api) -> Topology:
    return api.get("/topology", Topology)


def get_volume_usage(
    api: Api, name: str, *, since: datetime | None = None, until: datetime | None = None
) -> VolumeUsage:
    """How full it was and how it was used; of the last 24 hours unless told otherwise."""
    given = {"from": since.isoformat() if since else None, "to": until.isoformat() if until else None}
    return api.get(f"/volumes/{segment(name)}/usage", VolumeUsage, **given)


def get_caches_summary(api: Api) -> CachesSummary:
    return api.get("/caches/summary", CachesSummary)


def _link(a: str, b: str) -> str:
    return f"/links/{segment(a)}/{segment(b)}"
