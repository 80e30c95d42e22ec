"""`mill workspace classes`: storage classes of Kubernetes clusters that workspaces can be claims of."""

from __future__ import annotations

from typing import Any

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client.caches import list_volumes
from millpond.wire.base import Response

app = typer.Typer()

_EMPTY = "No storage classes. Agents of Kubernetes clusters offer them: see docs/workspaces.md"


class StorageClass(Response):
    """A class, and the volume whose agent makes claims of it."""

    name: str
    volume: str
    site: str
    provisioner: str
    is_default: bool
    expands: bool
    clones: bool
    snapshot_class: str
    snapshot_problem: str


@command(app, "classes")
def classes(mill: Session) -> None:
    """List storage classes of Kubernetes clusters that workspaces can be claims of.

    Example: mill workspace classes
    """
    columns: list[Column[StorageClass]] = [
        ("CLASS", lambda one: f"{one.name} (default)" if one.is_default else one.name),
        ("VOLUME", lambda one: one.volume),
        ("SITE", lambda one: one.site),
        ("SNAPSHOTS", lambda one: one.snapshot_class or f"in the lake at once: {one.snapshot_problem}"),
        ("CLONES", lambda one: "by its driver" if one.clones else "copied in a pod"),
        ("RESIZE", lambda one: "yes" if one.expands else "no"),
        ("PROVISIONER", lambda one: one.provisioner),
    ]
    found: list[dict[str, Any]] = []
    for volume in list_volumes(mill.api):
        told = (volume.features or {}).get("storage_classes")
        for one in told if isinstance(told, list) else ():
            found.append({**one, "volume": volume.name, "site": volume.site})
    shown = [StorageClass.model_validate(one) for one in found]
    mill.out.items(shown, columns, empty=_EMPTY, drop=["PROVISIONER", "SITE"])
