"""`mill server`: the servers this user has signed in to, and which one commands use."""

from __future__ import annotations

import os
from typing import Annotated, NamedTuple

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, forget_server, load_credentials, save_credentials
from millpond.client.servers import SavedLogins

app = typer.Typer()

Server = Annotated[str, typer.Argument(metavar="NAME|URL", help="Server, by name or URL.")]


class Listed(NamedTuple):
    name: str
    url: str
    current: bool


@command(app, "list")
def list_servers(mill: Session) -> None:
    """List the servers you have signed in to.

    Example: mill server list
    """
    known = load_credentials(config_dir())
    listed = sorted(Listed(one.name, url, url == known.current) for url, one in known.servers.items())
    if mill.out.as_json:
        mill.out.json({"items": [one._asdict() for one in listed]})
        return
    mill.out.items(
        listed,
        [("name", lambda s: s.name), ("url", lambda s: s.url), ("current", lambda s: "current" if s.current else "")],
        empty="No servers yet. Start one: mill up, or sign in to one: mill login URL",
    )
    _note_variable(mill)


@command(app, "use")
def use_server(mill: Session, which: Server) -> None:
    """Make a server the current one, which commands use by default.

    Example: mill server use lab
    """
    known = load_credentials(config_dir())
    url = known.require(which)
    save_credentials(config_dir(), known._replace(current=url))
    mill.out.note(f"Current server: {known.name_of(url)} ({url})")
    _note_variable(mill)


@command(app, "rename")
def rename_server(
    mill: Session, which: Server, name: Annotated[str, typer.Argument(metavar="NAME", help="New name.")]
) -> None:
    """Give a server another name on this machine.

    Example: mill server rename local laptop
    """
    known = load_credentials(config_dir())
    url = known.require(which)
    save_credentials(config_dir(), known.renamed(url, name))
    mill.out.note(f"{url} is now named {name}.")


@command(app, "forget")
def forget(mill: Session, which: Annotated[list[str], typer.Argument(metavar="NAME|URL...", help="Servers.")]) -> None:
    """Remove servers and their tokens from this machine, also those that no longer answer.

    The tokens stay valid on the server; `mill logout` revokes them, too.

    Example: mill server forget local-2
    """
    known = load_credentials(config_dir())
    for url in dict.fromkeys(known.require(one) for one in which):
        name = known.name_of(url)
        left = forget_server(config_dir(), url)
        mill.out.note(f"Forgot {name} ({url}).")
    if known.current and not left.current:
        note_no_current(mill, left)


def note_no_current(mill: Session, left: SavedLogins) -> None:
    if left.servers:
        mill.out.note(f"No server is current now. Choose one ({', '.join(sorted(left.names))}): mill server use NAME")


def _note_variable(mill: Session) -> None:
    if os.environ.get("MILL_SERVER"):
        mill.out.note(f"MILL_SERVER={os.environ['MILL_SERVER']} is set and wins over the current server.")
