"""`mill run snapshots` and `mill run restore`: the workspaces of a run, and back to how they were at its start."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.run_arguments import RunId
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.cli.workspace_arguments import NoWait, show_workspace, watch
from millpond.cli.workspace_snapshots import where
from millpond.client import workspaces as calls
from millpond.client.runs import find_run
from millpond.wire.workspace_views import RunSnapshot

app = typer.Typer()


@command(app, "snapshots")
def snapshots(mill: Session, run: RunId) -> None:
    """List the snapshots of workspaces that belong to a run, oldest first.

    Example: mill run snapshots train
    """
    columns: list[Column[RunSnapshot]] = [
        ("MOMENT", lambda s: s.moment or None),
        ("SNAPSHOT", lambda s: f"{s.workspace}@{s.name}"),
        ("STATE", lambda s: s.state.value),
        ("WHERE", where),
        ("TAKEN", lambda s: s.taken_at),
        ("SIZE", lambda s: Bytes(s.bytes)),
        ("PROBLEM", lambda s: s.problem),
    ]
    found = calls.list_run_snapshots(mill.api, mill.project, find_run(mill.api, mill.project, run).id)
    empty = "No snapshots belong to this run. Take some: mill submit --workspace W:/path --snapshot start,end …"
    mill.out.items(found, columns, empty=empty)


@command(app, "restore")
def restore(
    mill: Session,
    run: RunId,
    into: Annotated[str, typer.Option(metavar="NAME", help="Name of the new workspace.")],
    workspace: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of the run's workspaces, if it had several.")
    ] = None,
    no_wait: NoWait = False,
) -> None:
    """Create a workspace as it was when a run started. The same submission with it then starts the same.

    Example: mill run restore train --into train-again
    """
    found = find_run(mill.api, mill.project, run, unique=True)
    made = calls.restore_run(mill.api, mill.project, found.id, into, workspace=workspace)
    if not no_wait:
        made = watch.until_ready(mill, made.name)
        mill.out.note(f"Workspace {made.name} is as {found.name} found its own.")
    show_workspace(mill, made)
