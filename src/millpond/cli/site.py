"""`mill site`: places that hold volumes and computes."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.link import link_text
from millpond.cli.session import Session
from millpond.client.caches import create_site, list_sites
from millpond.client.topology import change_site, get_site, remove_site

app = typer.Typer()

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
            *(("link", f"{link.b if link.a == name else link.a}: {link_text(link)}") for link in found.links),
            ("created", found.site.created_at),
        ],
    )


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    address: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Where agents of other sites fetch cached commits; `none`: nowhere."),
    ],
) -> None:
    """Set where agents of other sites fetch cached commits. The agent there runs with --listen.

    Example: mill site set lab --address gpu1.lab.example.org:8425
    """
    site = change_site(mill.api, name, address=None if address == "none" else address)
    said = f"can be reached at {site.address}" if site.address else "is not reached by other sites"
    mill.out.note(f"Site {name} {said}.")
    mill.out.shape(site, [("site", site.name), ("address", site.address)])


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
