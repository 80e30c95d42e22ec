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
from millpond.wire.workspace_views import WorkspaceCreate


class Claim(NamedTuple):
    """A workspace to be made: on the volume, or of the tier, that is called so."""

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
def claimed(mill: Session, claims: Sequence[Claim]) -> Iterator[None]:
    """Make them first. They go again if the job is refused."""
    made: list[str] = []
    try:
        for one in claims:
            _create(mill, one)
            made.append(one.used.workspace)
            mill.out.note(f"Workspace {one.used.workspace} created for the job.")
        yield
    except MillError:
        for name in made:
            delete_workspace(mill.api, mill.project, name)
            delete_workspace(mill.api, mill.project, name, purge=True)
        raise


def _create(mill: Session, claim: Claim) -> None:
    known = list(list_volumes(mill.api))
    volume = next((one.name for one in known if one.name == claim.storage), None)
    tier = None if volume else next((one.tier for one in known if one.tier == claim.storage), None)
    if volume is None and tier is None:
        named = ", ".join(sorted({*(one.name for one in known), *(one.tier for one in known)}))
        raise BadRequest(f"No volume or tier {claim.storage!r} found.", hint=f"There are: {named}." if named else None)
    request = WorkspaceCreate(name=claim.used.workspace, size_bytes=claim.size_bytes, volume=volume, tier=tier)
    create_workspace(mill.api, mill.project, request)
