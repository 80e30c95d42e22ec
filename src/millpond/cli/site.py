"""`mill site`: places that hold volumes and computes."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.caches import create_site, list_sites

app = typer.Typer()


@command(app, "list")
def list_all(mill: Session) -> None:
    """List sites."""
    mill.out.items(
        list_sites(mill.api),
        [
            ("SITE", lambda s: s.name),
            ("AGENTS", lambda s: s.agents),
            ("VOLUMES", lambda s: s.volumes),
            ("CREATED", lambda s: s.created_at),
        ],
        empty="There are no sites yet. Add one: mill site add NAME",
    )


@command(app, "add")
def add(mill: Session, name: Annotated[str, typer.Argument(help="The site's name.")]) -> None:
    """Add a site."""
    site = create_site(mill.api, name)
    mill.out.note(f"Site {site.name} added.")
    mill.out.shape(site, [("site", site.name)])
