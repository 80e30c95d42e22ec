"""`mill workspace`: writable trees next to the compute. What people wait for has modules of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli import workspace_classes, workspace_create, workspace_diff, workspace_open, workspace_snapshots
from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.cli.workspace_arguments import WorkspaceName, show_workspace, watch
from millpond.client import workspaces as calls
from millpond.errors import BadRequest
from millpond.model.quantity import parse_bytes
from millpond.model.workspace import Begins, split_workspace
from millpond.wire.workspace_views import Workspace

app = typer.Typer()
app.registered_commands += workspace_create.app.registered_commands
app.registered_commands += workspace_snapshots.app.registered_commands
app.registered_commands += workspace_diff.app.registered_commands
app.registered_commands += workspace_classes.app.registered_commands
app.registered_commands += workspace_open.app.registered_commands

_EMPTY = "No workspaces yet. Create one: mill workspace create NAME --size 20GB"


@command(app, "list")
def list_all(
    mill: Session,
    space: Annotated[bool, typer.Option("--space", help="Show what each takes: unique, shared and snapshots.")] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="List those in the bin.")] = False,
    everywhere: Annotated[bool, typer.Option("--all", "-a", help="Of all your projects.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most workspaces to show.", min=1)] = 1000,
) -> None:
    """List workspaces: yours, those that are shared, and all of projects that you administer.

    Example: mill workspace list --space
    """
    columns: list[Column[Workspace]] = [
        ("WORKSPACE", lambda w: f"{w.project}/{w.name}" if everywhere else w.name),
        ("STATE", lambda w: w.state.value),
        ("OWNER", lambda w: f"{w.owner}, shared" if w.shared else w.owner),
        ("SIZE", lambda w: Bytes(w.size_bytes)),
        ("USED", lambda w: Bytes(w.used_bytes)),
    ]
    if space:
        columns += [
            ("UNIQUE", lambda w: Bytes(w.unique_bytes)),
            ("SHARED", lambda w: Bytes(w.shared_bytes)),
            ("SNAPSHOTS", lambda w: Bytes(w.snapshot_bytes)),
            ("FILES", lambda w: w.files),
            ("MEASURED", lambda w: w.measured_at),
        ]
    else:
        columns += [
            ("SNAPSHOTS", lambda w: w.snapshots),
            ("FROM", lambda w: w.source.written if w.source.kind is not Begins.EMPTY else None),
            ("JOBS", lambda w: [job.name for job in w.jobs]),
        ]
    columns += [
        ("VOLUME", lambda w: w.volume),
        ("CLASS", lambda w: w.storage_class or None),
        ("SITE", lambda w: w.site),
    ]
    if deleted:
        columns += [("DELETED", lambda w: w.deleted_at), ("BY", lambda w: w.deleted_by)]
    found = calls.list_workspaces(mill.api, None if everywhere else mill.project, deleted=deleted, at_most=limit)
    empty = "No workspaces in the bin." if deleted else _EMPTY
    mill.out.items(found, columns, empty=empty, drop=["SITE", "CLASS", "FROM", "OWNER"])


@command(app, "show")
def show(mill: Session, workspace: WorkspaceName) -> None:
    """Show a workspace: where it is, how it was made, what it takes.

    Example: mill workspace show notes
    """
    show_workspace(mill, calls.get_workspace(mill.api, mill.project, workspace))


@command(app, "wait")
def wait(
    mill: Session,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE[@SNAPSHOT]", help="What to wait for.")],
) -> None:
    """Wait until a workspace is ready, or a snapshot of it is kept.

    Example: mill workspace wait notes
    """
    name, snapshot = split_workspace(workspace)
    if snapshot is None:
        show_workspace(mill, watch.until_ready(mill, name))
        return
    workspace_snapshots.show_snapshot(mill, calls.wait_for_snapshot(mill.api, mill.project, name, snapshot))


@command(app, "mount")
def mount(
    mill: Session,
    workspace: WorkspaceName,
    directory: Annotated[
        Path | None, typer.Argument(help="Where to link it (default: print where it is).", show_default=False)
    ] = None,
) -> None:
    """Print the path of a workspace where this machine has its volume, or link it to a directory.

    Needs the project's group there. Jobs get it with `mill submit --workspace NAME:/path`.

    Example: mill workspace mount notes ~/notes
    """
    found = calls.get_workspace(mill.api, mill.project, workspace)
    if found.storage_class:
        raise BadRequest(
            f"Workspace {found.name!r} is a claim of a Kubernetes cluster, which pods alone mount.",
            hint=f"Use it in a job: mill workspace open {found.name}",
        )
    path = Path(found.path)
    if not os.path.lexists(path):
        raise BadRequest(
            f"This machine does not see {path}.",
            hint=f"Mount volume {found.volume} of site {found.site} here at the same path, or use the workspace in a "
            f"job: mill workspace open {found.name}",
        )
    if directory is not None:
        _link(directory, path)
        mill.out.note(f"{directory} leads to workspace {found.name}.")
    if mill.out.as_json:
        mill.out.json({"path": str(path), "link": str(directory) if directory else None})
    else:
        mill.out.line(str(directory or path))


@command(app, "resize")
def resize(
    mill: Session, workspace: WorkspaceName, size: Annotated[str, typer.Argument(help="New size, like 40GB.")]
) -> None:  # fmt: skip
    """Change how much a workspace may hold.

    Example: mill workspace resize notes 40GB
    """
    found = calls.change_workspace(mill.api, mill.project, workspace, size_bytes=parse_bytes(size))
    mill.out.note(f"Workspace {found.name} resized.")
    show_workspace(mill, found)


@command(app, "share")
def share(mill: Session, workspace: WorkspaceName) -> None:
    """Let members of the project use a workspace.

    Example: mill workspace share notes
    """
    found = calls.change_workspace(mill.api, mill.project, workspace, shared=True)
    mill.out.note(f"Members of project {found.project} can use workspace {found.name}.")
    show_workspace(mill, found)


@command(app, "unshare")
def unshare(mill: Session, workspace: WorkspaceName) -> None:
    """Make a workspace private to its owner again.

    Example: mill workspace unshare notes
    """
    found = calls.change_workspace(mill.api, mill.project, workspace, shared=False)
    mill.out.note(f"Workspace {found.name} is private to {found.owner}.")
    show_workspace(mill, found)


@command(app, "rm")
def remove(
    mill: Session,
    workspace: Annotated[str, typer.Argument(metavar="WORKSPACE[@SNAPSHOT]", help="Workspace, or one snapshot of it.")],
    purge: Annotated[bool, typer.Option("--purge", help="Remove one from the bin for good.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Move a workspace to the bin, for 30 days; or remove a snapshot.

    Example: mill workspace rm notes
    """
    name, snapshot = split_workspace(workspace)
    if snapshot is not None:
        mill.confirm(f"Remove snapshot {snapshot} of workspace {name}, on the volume and in the lake?", yes=yes)
        calls.delete_snapshot(mill.api, mill.project, name, snapshot)
        mill.out.note(f"Snapshot {snapshot} of {name} removed.")
    elif purge:
        mill.confirm(f"Remove workspace {name} and its snapshots for good?", yes=yes)
        calls.delete_workspace(mill.api, mill.project, name, purge=True)
        mill.out.note(f"Workspace {name} is being removed for good.")
    else:
        calls.delete_workspace(mill.api, mill.project, name)
        mill.out.note(f"Workspace {name} is in the bin. Bring it back: mill workspace undelete {name}")


@command(app, "undelete")
def undelete(mill: Session, workspace: WorkspaceName) -> None:
    """Restore a workspace from the bin.

    Example: mill workspace undelete notes
    """
    found = calls.undelete_workspace(mill.api, mill.project, workspace)
    mill.out.note(f"Workspace {found.name} restored.")
    show_workspace(mill, found)


def _link(directory: Path, path: Path) -> None:
    """A symbolic link. BadRequest for what is there already and is not this link."""
    target = directory.expanduser()
    if target.is_symlink() and target.readlink() == path:
        return
    if os.path.lexists(target):
        raise BadRequest(f"{directory} already exists.", hint="Choose another directory, or remove it first.")
    try:
        target.symlink_to(path)
    except OSError as error:
        raise BadRequest(f"Cannot link {directory}: {error.strerror}.") from error
