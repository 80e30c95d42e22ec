"""`--pvc CLASS:SIZE:PATH`: workspaces that are made for a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from millpond.cli.session import Session
from millpond.client.caches import list_volumes
from millpond.client.workspaces import create_workspace, delete_workspace
from millpond.errors import BadRequest, MillError
from millpond.model.ids import new_id
from millpond.model.job_spec import JobWorkspace
from millpond.model.quantity import parse_bytes
from millpond.wire.cache import Volume
from millpond.wire.workspace_views import WorkspaceCreate


class Claim(NamedTuple):
    """A workspace to be made: on the volume, of the tier, or as a claim of the storage class, that is called so."""

    storage: str
    size_bytes: int
    used: JobWorkspace


def sorted_claims(texts: Sequence[str], job: str | None) -> tuple[list[str], list[Claim]]:
    """Those that name mounts, as they are, and those that ask for a new workspace."""
    old: list[str] = []
    new: list[Claim] = []
    for text in texts:
        parts = text.split(":")
        is_new = len(parts) == 3 and not parts[1].startswith("/") and parts[2].startswith("/")
        if is_new:
            name = f"{(job or 'claim')[:50]}-{new_id(6)}"
            new.append(Claim(parts[0], parse_bytes(parts[1]), JobWorkspace(name, parts[2])))
        else:
            old.append(text)
    return old, new


@contextmanager
def claimed(mill: Session, claims: Sequence[Claim], compute: str | None) -> Iterator[None]:
    """Make them first, where the job's compute is. They go again if the job is refused."""
    made: list[str] = []
    try:
        for one in claims:
            _create(mill, one, compute)
            made.append(one.used.workspace)
            mill.out.note(f"Workspace {one.used.workspace} created for the job.")
        yield
    except MillError:
        for name in made:
            delete_workspace(mill.api, mill.project, name)
            delete_workspace(mill.api, mill.project, name, purge=True)
        raise


def _create(mill: Session, claim: Claim, compute: str | None) -> None:
    """Names of volumes come first and storage classes last, but for a job that names a cluster which has the class."""
    known = list(list_volumes(mill.api))
    offering = [one for one in known if claim.storage in _classes(one)]
    near = [one for one in offering if compute is not None and compute == one.filler]
    volume = next((one.name for one in known if one.name == claim.storage), None)
    tier = None if volume else next((one.tier for one in known if one.tier == claim.storage), None)
    is_class = bool(near) or (volume is None and tier is None and bool(offering))
    if volume is None and tier is None and not is_class:
        names = {name for one in known for name in (one.name, one.tier, *_classes(one))}
        hint = f"There are: {', '.join(sorted(names))}." if names else None
        raise BadRequest(f"No volume, tier or storage class {claim.storage!r} found.", hint=hint)
    request = WorkspaceCreate(
        name=claim.used.workspace,
        size_bytes=claim.size_bytes,
        volume=None if is_class else volume,
        tier=None if is_class else tier,
        storage_class=claim.storage if is_class else None,
        near=compute if near else None,
    )
    create_workspace(mill.api, mill.project, request)


def _classes(volume: Volume) -> list[str]:
    told = (volume.features or {}).get("storage_classes")
    return [str(one["name"]) for one in told] if isinstance(told, list) else []
