"""`mill activity`: what happened lately."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import list_activity

app = typer.Typer()


@command(app, "activity")
def activity(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of entries.", min=1, max=200)] = 30,
) -> None:
    """Show recent activity in your projects: what people changed, and how jobs ended.

    Example: mill activity --limit 20
    """
    mill.out.items(
        list_activity(mill.api, limit, project=mill.flags.project),
        [
            ("WHEN", lambda h: h.at),
            ("WHO", lambda h: h.actor),
            ("WHAT", lambda h: h.action),
            ("SUBJECT", lambda h: h.subject),
            ("REASON", lambda h: h.reason or None),
        ],
        empty="No activity yet.",
    )
