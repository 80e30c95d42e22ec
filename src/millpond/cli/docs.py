"""`mill docs`: the documentation that the server has of itself."""

from __future__ import annotations

import webbrowser
from collections.abc import Collection, Sequence
from typing import Annotated
from urllib.parse import quote

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.machine_login import has_browser
from millpond.errors import codes

app = typer.Typer()


@command(app, "docs")
def docs(
    mill: Session,
    context: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(help="Code of an error, a command, or words to search for.", show_default=False),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser where there is one.")] = True,
) -> None:
    """Open the documentation of the server, or print its address.

    Without a browser, or when piped, the address is printed. Reading needs no sign-in.
    Example: mill docs name_taken
    """
    known = frozenset(getattr(context.find_root().command, "commands", ()))
    address = f"{mill.target.server.rstrip('/')}/docs/{page_of(topic or [], known)}"
    if mill.out.as_json:
        mill.out.json({"url": address})
        return
    mill.out.line(address)
    if browser and mill.out.for_people and has_browser():
        webbrowser.open(address)


def page_of(topic: Sequence[str], commands: Collection[str]) -> str:
    """The address below /docs/ for a topic: the code of an error, a command, `api`, or a search for the words."""
    words = [word for word in topic if word != "mill" and not word.startswith("-")]
    if not words:
        return ""
    if len(words) == 1 and words[0] in codes():
        return f"reference/errors/#{words[0]}"
    if words == ["api"]:
        return "api/"
    if words[0] in commands:
        return f"cli/#mill-{'-'.join(words)}"
    return f"?q={quote(' '.join(words))}"
