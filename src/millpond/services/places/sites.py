"""Sites: places where volumes and computes stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import links as link_rows
from millpond.db import sites
from millpond.db.sites import SiteCounts
from millpond.errors import BadName, BadRequest, InUse, NameTaken
from millpond.model.address import HostPort
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.quantity import format_seconds
from millpond.model.topology import LAKE
from millpond.model.volume import Site
from millpond.services.deps import Deps
from millpond.services.lake.endpoint_check import check_endpoint, parse_endpoint
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit

# Long enough for an agent that waits for an answer to hear of the server in time; and so that a machine which is gone
# for good does not keep its jobs for ever.
PLACEMENT_SECONDS = (60, 30 * 86_400)


_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,200}")


def create(deps: Deps, actor: Actor, name: str) -> SiteCounts:
    now = deps.clock.now()
    if name == LAKE:
        raise BadName("A site cannot be named 'lake', which stands for the object store.", hint="Choose another.")
    site = Site(new_id(), check_name(name, "site"), now)
    try:
        with deps.db.write() as tx:
            sites.insert(tx, site)
            audit.record(tx, now=now, actor=actor, action="site.create", subject=name)
    except IntegrityError as error:
        raise NameTaken(f"Site {name!r} already exists.", hint="Choose another name.") from error
    return SiteCounts(site, computes=0, volumes=0)


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """Forget a site and its links. InUse, naming them, while volumes or computes are there."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        site = find(tx, name)
        volumes, computes = sites.standing_at(tx, site.id)
        standing = [*(f"volume {one}" for one in volumes), *(f"compute {one}" for one in computes)]
        if standing:
            raise InUse(
                f"Site {name!r} has {', '.join(standing)}.",
                hint="Remove its volumes (`mill volume rm`) and detach its computes (`mill compute detach`) first.",
                depends=standing,
            )  # fmt: skip
        link_rows.delete_of(tx, site.id)
        try:
            sites.delete(tx, site.id)
        except IntegrityError as error:
            raise InUse(
                f"Site {name!r} is the last one, and jobs have run there.", hint="Add another site first."
            ) from error
        audit.record(tx, now=now, actor=actor, action="site.remove", subject=name)


@dataclass(frozen=True, slots=True)
class ChangedSite:
    """A site as it is now; `warning` is what was found wrong and does not stand in the way."""

    counts: SiteCounts
    warning: str | None = None


def change(deps: Deps, actor: Actor, name: str, changes: Mapping[str, str | None]) -> ChangedSite:
    """Set what `changes` names, to nothing for None; the rest stays.

    `address`: where agents of other sites reach the one that serves its volumes. `lake_endpoint`: where agents and jobs
    of the site reach the lake; BadRequest if another lake is there. `serving_host`, `serving_tls_cert` and
    `serving_tls_key`: where routers of endpoints listen, and their certificate.
    """
    values = dict(changes)
    if address := values.get("address"):
        values["address"] = _address(address)
    warning = None
    if endpoint := values.get("lake_endpoint"):
        values["lake_endpoint"] = endpoint = parse_endpoint(endpoint)
        warning = check_endpoint(deps, endpoint)
    _check_serving(values)
    now = deps.clock.now()
    with deps.db.write() as tx:
        site = find(tx, name)
        if values:
            sites.change(tx, site.id, **values)
            before, after = _told(site), _told(find(tx, name))
            audit.record(tx, now=now, actor=actor, action="site.change", subject=name, before=before, after=after)
        found = get(tx, name)
    deps.events.wake("agents")
    return ChangedSite(found, warning)


def _told(site: Site) -> dict[str, object]:
    """Of a site, for the audit log."""
    return audit.values_of(site, "address", "lake_endpoint", "serving")


def _check_serving(values: Mapping[str, str | None]) -> None:
    host = values.get("serving_host")
    if host and not _HOST.fullmatch(host):
        raise BadRequest(f"{host!r} is not an address to listen at.", hint="Give a host name or an IP address.")
    files = [values.get(key) for key in ("serving_tls_cert", "serving_tls_key")]
    if any(files) and not all(one and one.startswith("/") and not set(one) & set(" \t\n") for one in files):
        raise BadRequest(
            "TLS needs two files, of the certificate and of its key, by absolute paths without spaces.",
            hint="Give both --tls-cert and --tls-key.",
        )


def _address(text: str) -> str:
    try:
        return str(HostPort.parse(text))
    except ValueError as error:
        raise BadRequest(str(error), hint="Write it as HOST:PORT, like gpu1.example.org:8425.") from error


def let_placements_last(deps: Deps, actor: Actor, name: str, seconds: int | None) -> SiteCounts:
    """Set how long jobs go on at a site while their agent cannot reach the server; None: as for all sites.

    It holds for jobs that are placed from now on: those that run were told otherwise.
    """
    least, most = PLACEMENT_SECONDS
    if seconds is not None and not least <= seconds <= most:
        raise BadRequest(
            f"Placements must last between {format_seconds(least)} and {format_seconds(most)}, "
            f"not {format_seconds(seconds)}.",
            hint=f"For example: mill site set {name} --placements-last 24h",
        )
    now = deps.clock.now()
    with deps.db.write() as tx:
        site = find(tx, name)
        sites.put_placement_seconds(tx, site.id, seconds)
        audit.record(
            tx, now=now, actor=actor, action="site.change", subject=name,
            before={"placement_seconds": site.placement_seconds}, after={"placement_seconds": seconds},
        )  # fmt: skip
        return get(tx, name)


def get(tx: Connection, name: str) -> SiteCounts:
    site = find(tx, name)
    volumes, computes = sites.standing_at(tx, site.id)
    return SiteCounts(site, computes=len(computes), volumes=len(volumes))


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[SiteCounts]:
    with deps.db.read() as tx:
        found = sites.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.site.name)


def find(tx: Connection, name: str) -> Site:
    found = sites.find(tx, name)
    if found is None:
        raise access.not_found("site", name, sites.names(tx))
    return found
