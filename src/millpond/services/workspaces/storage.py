"""Storage classes of which agents of Kubernetes clusters make workspaces, as they tell of them with their volumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from millpond.errors import MillError
from millpond.model.volume import Volume
from millpond.model.workspace import Workspace
from millpond.services.people import access

Class = Mapping[str, Any]


def classes_of(volume: Volume) -> Sequence[Class]:
    """None where the volume's agent runs no jobs in pods, or may not make claims."""
    found: Sequence[Class] = (volume.features or {}).get("storage_classes") or ()
    return found


def class_of(volume: Volume | None, name: str) -> Class | None:
    found = classes_of(volume) if volume is not None else ()
    return next((one for one in found if one["name"] == name), None)


def no_such_class(name: str, volumes: Iterable[Volume]) -> MillError:
    known = {str(one["name"]) for volume in volumes for one in classes_of(volume)}
    error = access.not_found("storage class", name, sorted(known))
    if not known:
        error.hint = "No agent offers any: run one in a Kubernetes cluster, with rights to make claims (docs/helm.md)."
    return error


def clone_problem(found: Class | None) -> str:
    """Why a class makes no clones of claims; "" if it does."""
    if found is None:
        return "its agent no longer tells of the class"
    return "" if found["clones"] else f"only CSI drivers clone, and {found['provisioner']} is none"


def about(workspace: Workspace, volume: Volume | None) -> list[str]:
    """What its class means for it, for people."""
    if not workspace.is_claim:
        return []
    access_words = "pods of several nodes" if workspace.many_nodes else "pods of one node at a time"
    said = [f"a claim of storage class {workspace.storage_class}, which {access_words} can mount"]
    found = class_of(volume, workspace.storage_class)
    if found is not None and not found["snapshot_class"]:
        said.append(f"its snapshots are kept in the lake at once: {found['snapshot_problem']}")
    return said
