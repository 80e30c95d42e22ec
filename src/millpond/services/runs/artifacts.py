"""Artifacts: files of a run, kept as a commit of the lake."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from millpond.db import datasets
from millpond.errors import NotFound, TooLarge
from millpond.model.artifact import Artifact, ArtifactEntry
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import ARTIFACT_DATASET
from millpond.model.path import to_text
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_bytes
from millpond.model.tree import Kind
from millpond.services import listing
from millpond.services.commits import refs
from millpond.services.commits.packs.trust import owner_of
from millpond.services.datasets import files, reading
from millpond.services.deps import Deps
from millpond.services.listing import Listing
from millpond.services.people import access
from millpond.services.runs import artifact_commits, artifact_staging, small_uploads
from millpond.services.runs import runs as run_service


def put(deps: Deps, actor: Actor, project: Project, run_id: str, path: str, content: bytes) -> Artifact:
    """Durable when it returns. The newest under a path takes the place of the one before."""
    name = artifact_staging.check_name(path)
    if len(content) > deps.settings.max_object_bytes:
        raise TooLarge(
            f"An artifact sent through the server has at most {format_bytes(deps.settings.max_object_bytes)}.",
            hint="Use millpond.log_artifact(…): it sends files of any size straight to the store.",
        )
    with deps.db.read() as tx:
        run = run_service.find(tx, actor, project, run_id)
    small_uploads.stage_bytes(deps, run, {name: content}, owner=owner_of(actor))
    return Artifact(path, len(content))


def put_stream(
    deps: Deps, actor: Actor, project: Project, run_id: str, path: str, size: int, pieces: Iterator[bytes]
) -> Artifact:
    """The same for a file of any size, in pieces."""
    name = artifact_staging.check_name(path)
    with deps.db.read() as tx:
        run = run_service.find(tx, actor, project, run_id)
    small_uploads.stage_streams(deps, run, {name: (size, pieces)}, owner=owner_of(actor))
    return Artifact(path, size)


def list_folder(
    deps: Deps, actor: Actor, project: Project, run_id: str, *, path: str = "", limit: int, cursor: str | None
) -> Listing[ArtifactEntry]:
    """One folder of a run's artifacts by name; nothing for one that is not there."""
    found = newest(deps, actor, project, run_id)
    if found is None:
        return Listing([], None)
    try:
        part = reading.entries(deps, *found, path=path, limit=limit, cursor=cursor)
    except NotFound:
        return Listing([], None)
    items = [ArtifactEntry(entry.name, entry.kind == "directory", entry.size) for entry in part.items]
    return Listing(items, part.next)


def open_artifact(deps: Deps, actor: Actor, project: Project, run_id: str, path: str) -> files.OpenFile:
    """NotFound with the nearest names."""
    found = newest(deps, actor, project, run_id)
    if found is None:
        raise access.not_found("artifact", path)
    try:
        return files.open_file(deps, *found, path)
    except NotFound as error:
        near = [to_text(entry.path) for entry in islice(reading.reader_of(deps, *found).entries(), 1000)]
        raise access.not_found("artifact", path, near) from error


def list_artifacts(
    deps: Deps, actor: Actor, project: Project, run_id: str, *, path: str = "", limit: int, cursor: str | None
) -> Listing[Artifact]:
    """All files below a folder (all of the run's without one), by path."""
    directory, after = reading.directory_path(path), reading.place_of(cursor)
    found = newest(deps, actor, project, run_id)
    if found is None:
        return Listing([], None)
    entries = reading.reader_of(deps, *found).entries(directory, after or None)
    shown = list(islice((entry for entry in entries if entry.kind is not Kind.DIRECTORY), limit + 1))
    items = [Artifact(to_text(entry.path), entry.size) for entry in shown[:limit]]
    return Listing(items, listing.encode(shown[limit - 1].path.hex()) if len(shown) > limit else None)


def newest(deps: Deps, actor: Actor, project: Project, run_id: str) -> tuple[Dataset, Commit] | None:
    """The commit that holds everything the run has logged so far; None if that is nothing."""
    with deps.db.read() as tx:
        run_service.find(tx, actor, project, run_id)
    artifact_commits.gather(deps, run_id)
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project.id, ARTIFACT_DATASET)
        commit = refs.head_commit(tx, dataset, run_id) if dataset else None
    return (dataset, commit) if dataset and commit else None
