"""`mill lake`: the object store of this machine's server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.up import take_over_lake

app = typer.Typer()


@command(app, "take-over")
def take_over(
    mill: Session,
    data_dir: Annotated[Path | None, typer.Option(help="The server's data directory (MILL_DATA_DIR).")] = None,
    database: Annotated[str | None, typer.Option("--db", metavar="URL", help="The server's database.")] = None,
    lake: Annotated[str | None, typer.Option("--lake", metavar="URL", help="The lake.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Let this machine's server write to a lake that another server owned.

    Two servers that write to one lake destroy it: the other one must be gone for good.
    """
    mill.confirm("Is the server that owned this lake gone for good?", yes=yes)
    before = take_over_lake(data_dir=data_dir, database_url=database, lake_url=lake)
    mill.out.note(f"The lake is this server's now{f'; it was of database {before}' if before else ''}.")
    if mill.out.as_json:
        mill.out.json({"previous": before})
