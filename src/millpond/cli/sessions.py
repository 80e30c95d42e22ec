"""`mill session`: browsers that are signed in."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.sign_in import end_session, end_sessions, list_sessions
from millpond.errors import BadRequest
from millpond.model.quantity import format_count

app = typer.Typer()

OfUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Whose; for site administrators.")]


@command(app, "list")
def list_all(mill: Session, user: OfUser = None) -> None:
    """List the browsers in which you are signed in. Command lines have tokens: `mill token list`.

    Example: mill session list
    """
    mill.out.items(
        list_sessions(mill.api, user),
        [
            ("ID", lambda one: one.id),
            ("FROM", lambda one: one.address),
            ("BROWSER", lambda one: one.user_agent),
            ("SIGNED IN WITH", lambda one: one.provider or "password"),
            ("SINCE", lambda one: one.created_at),
            ("LAST USED", lambda one: one.last_used_at),
            ("EXPIRES", lambda one: one.expires_at),
        ],
        empty="No browser is signed in.",
        drop=("BROWSER", "EXPIRES"),
    )


@command(app, "revoke")
def revoke(
    mill: Session,
    session: Annotated[str | None, typer.Argument(help="Id of the session.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="End all of them.")] = False,
    user: OfUser = None,
) -> None:
    """Sign a browser out. It counts from its next request on.

    Example: mill session revoke 3fa2c1d09b7e4410
    """
    if (session is None) != everything:
        raise BadRequest("Name a session, or add --all.", hint="List them: mill session list")
    if session is not None:
        end_session(mill.api, session, user)
        mill.out.note(f"Session {session} ended.")
        return
    count = end_sessions(mill.api, user)
    if mill.out.as_json:
        mill.out.json({"count": count})
    mill.out.note(f"{format_count(count, 'session')} ended.")
