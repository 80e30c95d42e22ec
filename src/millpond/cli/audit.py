"""`mill audit`: who changed what."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import list_audit

app = typer.Typer()


@command(app, "audit")
def audit(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of records.", min=1)] = 50,
) -> None:
    """Show the audit log, newest first.

    Example: mill audit --limit 50 --json
    """
    mill.out.items(
        list_audit(mill.api, limit),
        [
            ("WHEN", lambda r: r.at),
            ("WHO", lambda r: r.actor),
            ("WHAT", lambda r: r.action),
            ("SUBJECT", lambda r: r.subject),
            ("PROJECT", lambda r: r.project),
            ("DETAILS", lambda r: json.dumps(r.details, ensure_ascii=False) if r.details else ""),
        ],
        empty="No changes yet.",
    )
