"""`mill workspace create` and `clone`: new workspaces, which people wait for."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.workspace_arguments import NoWait, WorkspaceName, many_nodes, say_plan, show_workspace, watch
from millpond.client import workspaces as calls
from millpond.errors import BadRequest
from millpond.model.quantity import parse_bytes
from millpond.model.workspace import WorkspaceState, split_workspace
from millpond.wire.workspace_views import Workspace, WorkspaceCreate

app = typer.Typer()

Size = Annotated[str | None, typer.Option(metavar="SIZE", help="What it may hold, like 20GB; reserved at once.")]
Volume = Annotated[str | None, typer.Option(metavar="NAME", help="Volume to put it on (default: the best one).")]
Class = Annotated[
    str | None,
    typer.Option("--class", metavar="CLASS", help="Make it a claim of this storage class of a Kubernetes cluster."),
]
Access = Annotated[
    str | None,
    typer.Option(metavar="once|many", help="Whether pods of one node or of many mount the claim (default: once)."),
]
Near = Annotated[str | None, typer.Option(metavar="COMPUTE|SITE", help="Choose a volume that is near this.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show where, how and how long. Create nothing.")]


@command(app, "create")
def create(
    mill: Session,
    name: WorkspaceName,
    size: Size = None,
    dataset: Annotated[
        str | None, typer.Option("--from", metavar="DATASET[@REF]", help="Begin with the files of a commit.")
    ] = None,
    volume: Volume = None,
    near: Near = None,
    tier: Annotated[str | None, typer.Option(metavar="TIER", help="Choose a volume of this tier.")] = None,
    storage_class: Class = None,
    access: Access = None,
    git: Annotated[
        str | None, typer.Option(metavar="URL[@REF]", help="Clone a Git repository into it, by a job.")
    ] = None,
    share: Annotated[bool, typer.Option("--share", help="Let members of the project use it.")] = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> None:
    """Create a workspace: a writable tree on a volume next to the compute.

    Example: mill workspace create notes --size 20GB --from xray@main
    """
    if size is None:
        raise BadRequest("No size given.", hint="Add --size, like --size 20GB.")
    url, ref = _repository(git)
    request = WorkspaceCreate(
        name=name, size_bytes=parse_bytes(size), dataset=dataset, volume=volume, near=near, tier=tier, shared=share,
        git=url, git_ref=ref, storage_class=storage_class, many_nodes=many_nodes(access),
    )  # fmt: skip
    _create(mill, request, dry_run=dry_run, wait=not no_wait)


@command(app, "clone")
def clone(
    mill: Session,
    source: Annotated[str, typer.Argument(metavar="WORKSPACE[@SNAPSHOT]", help="What to clone; daily* is the newest.")],
    name: Annotated[str, typer.Argument(help="Name of the clone.")],
    size: Size = None,
    volume: Volume = None,
    near: Near = None,
    storage_class: Class = None,
    access: Access = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Nobody writes to the clone.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Replace the content of an existing clone, after a snapshot of it.")
    ] = False,
    dry_run: DryRun = False,
    no_wait: NoWait = False,
) -> None:
    """Clone a workspace or a snapshot of it, at once where the file system can.

    Example: mill workspace clone notes@before experiment-2
    """
    split_workspace(source)
    if refresh:
        calls.refresh_workspace(mill.api, mill.project, name, source)
        found = _waited(mill, name, wait=not no_wait)
        mill.out.note(f"Workspace {name} {'has' if not no_wait else 'gets'} the content of {source}.")
        show_workspace(mill, found)
        return
    request = WorkspaceCreate(
        name=name, clone=source, size_bytes=None if size is None else parse_bytes(size), volume=volume, near=near,
        read_only=read_only, storage_class=storage_class, many_nodes=many_nodes(access),
    )  # fmt: skip
    _create(mill, request, dry_run=dry_run, wait=not no_wait)


def _create(mill: Session, request: WorkspaceCreate, *, dry_run: bool, wait: bool) -> None:
    if dry_run:
        say_plan(mill, calls.plan_workspace(mill.api, mill.project, request))
        return
    made = calls.create_workspace(mill.api, mill.project, request)
    watch.begin(mill, made)
    found = _waited(mill, made.name, wait=wait)
    if found.state is WorkspaceState.READY:
        mill.out.note(f"Workspace {found.name} is ready. Use it: mill workspace open {found.name}")
    show_workspace(mill, found)


def _waited(mill: Session, name: str, *, wait: bool) -> Workspace:
    if not wait:
        return calls.get_workspace(mill.api, mill.project, name)
    return watch.until_ready(mill, name)


def _repository(text: str | None) -> tuple[str, str]:
    """URL and ref of `URL[@REF]`; an @ before the last slash belongs to the URL."""
    if text is None:
        return "", ""
    head, slash, last = text.rpartition("/")
    name, _, ref = last.partition("@")
    return f"{head}{slash}{name}", ref
