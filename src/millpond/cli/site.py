"""`mill site`: places that hold volumes and computes."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.limit_arguments import Between, Limits, NoLimit, Zones, check_together, limit_of
from millpond.cli.link import link_text
from millpond.cli.session import Session
from millpond.cli.values import Seconds
from millpond.client.caches import create_site, list_sites
from millpond.client.topology import (
    change_site,
    get_site,
    let_placements_last,
    limit_site,
    remove_site,
    unlimit_site,
)
from millpond.errors import BadRequest
from millpond.model.quantity import format_seconds, parse_seconds
from millpond.wire.cache import Site
from millpond.wire.topology import SiteStore

app = typer.Typer()


def store_text(store: SiteStore) -> str:
    return f"{store.name}: {store.problem or 'reads well'}"


Name = Annotated[str, typer.Argument(help="Name of the site.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List sites.

    Example: mill site list
    """
    mill.out.items(
        list_sites(mill.api),
        [
            ("SITE", lambda s: s.name),
            ("COMPUTES", lambda s: s.computes),
            ("VOLUMES", lambda s: s.volumes),
            ("ADDRESS", lambda s: s.address),
            ("LIMIT", lambda s: s.limit.text if s.limit else None),
            ("PLACEMENTS LAST", lambda s: Seconds(s.placement_seconds) if s.placement_seconds else None),
            ("CREATED", lambda s: s.created_at),
        ],
        empty="No sites yet. Add one: mill site add NAME",
    )


@command(app, "add")
def add(mill: Session, name: Name) -> None:
    """Add a site.

    Example: mill site add lab
    """
    site = create_site(mill.api, name)
    mill.out.note(f"Site {site.name} added. Set its link: mill link set {site.name} lake --bandwidth 10Gbit/s")
    mill.out.shape(site, [("site", site.name)])


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a site: its volumes, computes and links.

    Example: mill site show lab
    """
    found = get_site(mill.api, name)
    mill.out.shape(
        found,
        [
            ("site", found.site.name),
            ("computes", found.computes),
            ("volumes", found.volumes),
            ("address", found.site.address),
            ("limit", found.site.limit.text if found.site.limit else None),
            ("lake endpoint", found.site.lake_endpoint),
            *(("lake", store_text(one)) for one in found.stores),
            ("placements last", _lasting(found.site)),
            *(("link", f"{link.b if link.a == name else link.a}: {link_text(link)}") for link in found.links),
            ("created", found.site.created_at),
        ],
    )


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where agents of other sites fetch cached commits; `none`: nowhere."),
    ] = None,
    lake_endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where agents and jobs of the site reach the lake; `none`: where all do."),
    ] = None,
    serve_on: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Where routers of endpoints listen; `none`: on their own machine only."),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate of the routers, a file on their machine; or `none`.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key of that certificate; or `none`.")] = None,
    placements_last: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long jobs go on while their agent cannot reach the server, like 24h (`default`: as elsewhere).",
        ),
    ] = None,
    limits: Limits = None,
    between: Between = None,
    no_limit: NoLimit = False,
    zones: Zones = None,
) -> None:
    """Set how a site is reached, how it reaches the lake, how fast fills may be, and how long jobs go on alone.

    The agent at the address runs with --listen. A limit holds for what fills bring to the site and what it sends to
    other sites, together; its agents share it. With --placements-last, jobs placed from then on survive a longer
    silence of their agent; jobs of a machine that is gone are placed again only after it.

    Example: mill site set lab --limit 200Mbit/s --between 08:00-18:00 Europe/Berlin
    """
    limit = limit_of(limits, between, zones)
    check_together(limit, no_limit)
    given = {"address": address, "lake_endpoint": lake_endpoint, "serving_host": serve_on}
    given |= {"serving_tls_cert": tls_cert, "serving_tls_key": tls_key}
    changes = {key: None if value == "none" else value for key, value in given.items() if value is not None}
    if not changes and placements_last is None and limit is None and not no_limit:
        raise BadRequest("No value given for the site.", hint=f"For example: mill site set {name} --limit 200Mbit/s")
    if limit is not None:
        limit_site(mill.api, name, limit)
    if no_limit:
        unlimit_site(mill.api, name)
    if placements_last is not None:
        seconds = None if placements_last == "default" else int(parse_seconds(placements_last))
        let_placements_last(mill.api, name, seconds)
    warning = change_site(mill.api, name, **changes).warning if changes else None
    site = get_site(mill.api, name).site
    mill.out.note(f"Site {name} {_said(site)}.")
    if "lake_endpoint" in changes:
        mill.out.note(f"It reaches the lake at {site.lake_endpoint or 'the endpoint that all use'}.")
    if warning:
        mill.out.note(f"{warning} Agents of the site try it and report: mill site show {name}")
    limited = site.limit.text if site.limit else None
    shown = [("address", site.address), ("lake endpoint", site.lake_endpoint), ("limit", limited)]
    mill.out.shape(site, [("site", site.name), *shown, ("placements last", _lasting(site))])


def _said(site: Site) -> str:
    reached = f"can be reached at {site.address}" if site.address else "is not reached by other sites"
    alone = format_seconds(site.placement_seconds) if site.placement_seconds else "the default time"
    limit = f"limit {site.limit.text}" if site.limit else "no limit"
    return f"{reached}; {limit}; jobs last {alone} without the server"


def _lasting(site: Site) -> Seconds | None:
    return Seconds(site.placement_seconds) if site.placement_seconds else None


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a site and its links. Refused while it has volumes or computes.

    Example: mill site rm lab
    """
    mill.confirm(f"Remove the site {name}?", yes=yes)
    remove_site(mill.api, name)
    mill.out.note(f"Site {name} removed.")
