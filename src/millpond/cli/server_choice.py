"""Explains why a command went to a server that does not answer, and what to type instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millpond.client.credentials import ChosenBy, config_dir, load_credentials
from millpond.client.servers import SavedLogins
from millpond.client.working_copy import FOLDER
from millpond.errors import MillError, ServerUnreachable

if TYPE_CHECKING:
    from millpond.cli.session import Session


def explain_server(error: ServerUnreachable, session: Session) -> None:
    """Say in the hint of `error` what chose its server; an error about another server stays as it is."""
    try:
        target, known = session.target, load_credentials(config_dir())
    except MillError:
        return
    if error.details.get("server") != target.server:
        return
    chosen = _chosen_by(target.chosen_by, known.name_of(target.server))
    error.hint = " ".join(part for part in (chosen, error.hint, _others(known, target.server)) if part)


def _chosen_by(chosen_by: ChosenBy, name: str | None) -> str:
    called = f" ({name})" if name else ""
    return {
        ChosenBy.FLAG: f"Chosen by --server{called}.",
        ChosenBy.VARIABLE: f"Chosen by the variable MILL_SERVER{called}.",
        ChosenBy.FOLDER: f"Chosen by {FOLDER}/config.json of this folder{called}.",
        ChosenBy.CURRENT: f"It is your current server{called}.",
        ChosenBy.DEFAULT: "No server is current, so this is the default.",
    }[chosen_by]


def _others(known: SavedLogins, server: str) -> str:
    others = [one.name for url, one in known.servers.items() if url != server]
    if not others:
        return "Another server: mill login URL"
    listed = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
    return f"Another server ({listed}): mill server use NAME, or --server NAME"
