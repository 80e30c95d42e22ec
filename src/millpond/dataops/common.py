"""What both halves of the toolkit are made of: workspaces and snapshots by name, and words for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.client.workspace import Workspace
from millpond.dataops.errors import InvalidSnapshotParameterError, MountOperationError, NotSupported
from millpond.dataops.old_names import find_old
from millpond.dataops.verbs import Verb
from millpond.errors import NotFound
from millpond.model.quantity import format_bytes
from millpond.wire.workspace_views import Workspace as WorkspaceInfo
from millpond.wire.workspace_views import WorkspaceSnapshot

# How the toolkit names snapshots that nobody has named.
_PREFIX = "ntap-dsutil."


def say(is_asked: bool, words: str) -> None:
    """The toolkit prints only where `print_output` asks for it."""
    if is_asked:
        sys.stdout.write(f"{words}\n")


def tell_ignored(is_asked: bool, given: Mapping[str, Any]) -> None:
    """Arguments about ONTAP or Kubernetes itself change nothing here; whoever gave one is told."""
    names = [name for name, value in given.items() if value not in (None, False, "")]
    if names:
        say(is_asked, f"Without effect here: {', '.join(names)}.")


def project_of(namespace: str | None) -> str | None:
    """A namespace of the toolkit is a project; `default` is the one that is used here."""
    return None if namespace in (None, "", "default") else namespace


def create_on(name: str, size: str, storage: str | None, project: str | None) -> Workspace:
    """On the volume that is called so; where there is none, as a claim of this class of a Kubernetes cluster."""
    try:
        return Workspace.create(name, size, volume=storage, project=project)
    except NotFound:
        if storage is None:
            raise
        return Workspace.create(name, size, storage_class=storage, project=project)


def workspace_name(volume: str, *, print_output: bool = False) -> str:
    """The workspace of a volume: its name has no capital letters, that of an ONTAP volume may."""
    name = volume.lower()
    if name != volume:
        say(print_output, f"Volume {volume} is workspace {name}.")
    return name


def snapshot_name(now: datetime | None = None) -> str:
    return f"{_PREFIX}{(now or datetime.now(UTC)):%Y%m%d%H%M%S}"


def find_snapshot(name: str, project: str | None) -> tuple[Workspace, WorkspaceSnapshot]:
    """The toolkit's snapshots in Kubernetes have a name in their namespace: looked for in all workspaces."""
    found = []
    for info in Workspace.list(project=project):
        if not info.usable:
            continue
        workspace = Workspace(info.name, project=info.project)
        found += [(workspace, one) for one in workspace.snapshots() if one.name == name]
    if not found:
        raise InvalidSnapshotParameterError(f"No snapshot {name!r} found.")
    if len(found) > 1:
        names = ", ".join(workspace.name for workspace, _ in found)
        raise InvalidSnapshotParameterError(
            f"Several workspaces have a snapshot {name!r}: {names}. Use mill workspace restore WORKSPACE@{name}."
        )
    return found[0]


def mount(workspace: Workspace, mountpoint: str | None, *, print_output: bool) -> None:
    """Show the tree at `mountpoint` by a symbolic link: the volume itself is mounted by the machine."""
    if mountpoint is None:
        return
    tree, link = Path(workspace.path), Path(mountpoint).expanduser()
    if not tree.is_dir():
        raise MountOperationError(
            f"This machine does not have volume {workspace.volume} at {tree}: mount it here first, or work in a job "
            f"(mill workspace open {workspace.name} --lab)."
        )
    if link.is_dir() and not link.is_symlink() and not any(link.iterdir()):
        link.rmdir()
    try:
        link.symlink_to(tree, target_is_directory=True)
    except OSError as error:
        raise MountOperationError(f"Cannot show {workspace.name} at {link}: {error.strerror}.") from error
    say(print_output, f"Workspace {workspace.name} is at {link}.")


def unmount(mountpoint: str, *, print_output: bool) -> None:
    link = Path(mountpoint).expanduser()
    if not link.is_symlink():
        raise MountOperationError(f"{link} is not a mountpoint of a workspace.")
    link.unlink()
    say(print_output, f"{link} removed. The workspace stays as it is.")


def is_here(info: WorkspaceInfo) -> bool:
    """Whether this machine has the volume that it lies on."""
    return Path(info.path).is_dir()


def source_of(info: WorkspaceInfo) -> tuple[str, str]:
    """The workspace and the snapshot that it was cloned from; empty where it is no clone."""
    if not info.source.workspace_id:
        return "", ""
    name, _, snapshot = info.source.written.partition("@")
    return name, snapshot


def size_of(info: WorkspaceInfo) -> str:
    return format_bytes(info.size_bytes)


def print_table(rows: Sequence[Mapping[str, Any]], *, print_output: bool) -> None:
    if not print_output or not rows:
        return
    columns = list(rows[0])
    widths = [max(len(column), *(len(str(row[column])) for row in rows)) for column in columns]
    for cells in (columns, ["-" * width for width in widths], *([row[column] for column in columns] for row in rows)):
        line = "  ".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


def find_function(
    name: str, functions: Mapping[str, Any], *, old: Mapping[str, str], verbs: Sequence[Verb]
) -> Callable[..., Any]:
    """What a module of the toolkit has besides its functions: their old names, and those that are refused, which say so
    when they are called. AttributeError for anything else."""
    if (renamed := find_old(name, old, functions)) is not None:
        return renamed
    for verb in verbs:
        if verb.refused and verb.function == name:
            return _refusing(verb)
    raise AttributeError(f"the toolkit has no {name!r}")


def _refusing(verb: Verb) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotSupported(f"{verb.function} is not available. {verb.refused}")

    return refuse
