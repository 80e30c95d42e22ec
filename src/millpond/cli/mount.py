"""`mill mount`: directories that jobs may mount with `--pvc` and `-v`."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.mounts import allow_mount, create_mount, deny_mount, list_mounts, remove_mount
from millpond.wire.mounts import MountCreate, SharedMount

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the mount.")]
Projects = Annotated[list[str] | None, typer.Argument(metavar="[PROJECT]...", help="Projects.", show_default=False)]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    path: Annotated[str, typer.Argument(metavar="DIRECTORY", help="Directory, as seen by the machines that run jobs.")],
    allow: Annotated[
        list[str] | None, typer.Option("--allow", metavar="PROJECT", help="Project that may use it. Repeatable.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="Allow all projects, including future ones.")] = False,
    site: Annotated[str | None, typer.Option(help="Site where the directory exists. Default: all.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Jobs cannot write to it.")] = False,
) -> None:
    """Let jobs of a project mount a directory.

    Jobs use it with `mill submit --pvc NAME:/path` or `-v DIRECTORY:/path`.

    Example: mill mount add scratch /mnt/scratch --allow vision
    """
    request = MountCreate(name=name, path=path, site=site, read_only=read_only, projects=allow or [], all=everyone)
    _show(mill, create_mount(mill.api, request), "added")


@command(app, "list")
def list_all(mill: Session) -> None:
    """List mounts that your projects may use.

    Example: mill mount list
    """
    mill.out.items(
        list_mounts(mill.api),
        [
            ("MOUNT", lambda m: m.name),
            ("DIRECTORY", lambda m: m.path),
            ("SITE", lambda m: m.site),
            ("ACCESS", lambda m: "read" if m.read_only else "read and write"),
            ("PROJECTS", lambda m: "all" if m.all else m.projects),
        ],
        empty="No mounts yet. An administrator can add one: mill mount add NAME DIRECTORY",
    )


@command(app, "allow")
def allow(
    mill: Session,
    name: Name,
    projects: Projects = None,
    everyone: Annotated[bool, typer.Option("--all", help="All projects, including future ones.")] = False,
) -> None:
    """Allow jobs of projects to use a mount.

    Example: mill mount allow scratch vision
    """
    _show(mill, allow_mount(mill.api, name, projects or [], everyone=everyone), "changed")


@command(app, "deny")
def deny(
    mill: Session,
    name: Name,
    projects: Projects = None,
    everyone: Annotated[bool, typer.Option("--all", help="All projects that are allowed.")] = False,
) -> None:
    """Withdraw `mill mount allow`. Running jobs keep the mount.

    Example: mill mount deny scratch vision
    """
    _show(mill, deny_mount(mill.api, name, projects or [], everyone=everyone), "changed")


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a mount. The directory and its files stay.

    Example: mill mount rm scratch
    """
    mill.confirm(f"Remove the mount {name}? Its files stay.", yes=yes)
    remove_mount(mill.api, name)
    mill.out.note(f"Mount {name} removed. Its files stay.")


def _show(mill: Session, mount: SharedMount, what: str) -> None:
    allowed = mount.all or mount.projects
    mill.out.note(
        f"Mount {mount.name} {what}."
        + ("" if allowed else f" No project may use it yet: mill mount allow {mount.name} PROJECT")
    )
    mill.out.shape(
        mount,
        [
            ("mount", mount.name),
            ("directory", mount.path),
            ("site", mount.site),
            ("access", "read" if mount.read_only else "read and write"),
            ("projects", "all" if mount.all else mount.projects),
        ],
    )
