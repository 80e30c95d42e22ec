"""`mill workspace diff`: what differs between two snapshots, or a snapshot and now."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.data_status import show_changes
from millpond.cli.session import Session
from millpond.client import workspaces as calls
from millpond.model.workspace import split_snapshot

app = typer.Typer()


@command(app, "diff")
def diff(
    mill: Session,
    before: Annotated[str, typer.Argument(metavar="WORKSPACE@SNAPSHOT", help="The earlier snapshot.")],
    after: Annotated[
        str | None, typer.Argument(metavar="SNAPSHOT", help="The later snapshot (default: as it is now).")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most paths to show.", min=1, max=1000)] = 1000,
) -> None:
    """Show what differs between two snapshots, or a snapshot and now. Waits until both are kept.

    Example: mill workspace diff notes@before
    """
    name, first = split_snapshot(before)
    second = split_snapshot(after)[1] if after and "@" in after else after
    with calls.compared(mill.api, mill.project, name, first, second) as later:
        found = calls.diff_snapshots(mill.api, mill.project, name, first, later, limit=limit)
    show_changes(mill, found, everything=True)
