"""Importing an export straight onto a volume, where no server can be reached.

What is published is what a fill would have made. When the agent of the site has a line again, the server finds the
commits on the volume, and they are ready.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import Conflict, Corrupt, DiskFull, VolumeProblem
from millpond.lake.exports.manifest import ExportedCommit, Have, Side
from millpond.lake.exports.reading import ExportFile
from millpond.lake.transfer import Progress
from millpond.model.ids import new_id
from millpond.model.quantity import format_bytes
from millpond.volumes.attempt import begin_import
from millpond.volumes.bases import BaseTree
from millpond.volumes.fill import fill
from millpond.volumes.groups import is_set_apart
from millpond.volumes.pointers import Pointer, point
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt, check, explained, read_identity


@dataclass(frozen=True, slots=True)
class ImportedTree:
    """Where a commit lies now; `is_new` is False where it was there before."""

    exported: ExportedCommit
    path: Path
    is_new: bool


def import_onto(
    root: Path, file: ExportFile, *, progress: Callable[[ExportedCommit], Progress | None] = lambda one: None
) -> list[ImportedTree]:
    """Publish the commits of an export on the volume at `root`. An empty directory becomes a volume of their lake.

    VolumeProblem if it cannot be used or belongs to another lake, Conflict if a commit that the file builds on is not
    there, DiskFull if there is no room: nothing is left of it then. What an interrupted import made is taken over.
    """
    volume = _open(root, file.manifest.lake)
    check(volume)
    _check_bases(volume, file)
    made: list[ImportedTree] = []
    # Files that several commits of the export share are stored once.
    before: dict[str, BaseTree] = {}
    for one in file.manifest.commits:
        made.append(_import(volume, file, one, before.get(one.dataset_id), progress(one)))
        before[one.dataset_id] = BaseTree(made[-1].path, one.tree, file)
    point(volume, [_pointer(one) for one in file.manifest.commits if one.branch])
    return made


def commits_on(root: Path) -> Have:
    """The commits that the volume at `root` holds, by dataset."""
    volume = _known(root)
    commits: dict[str, list[str]] = {}
    for place in volume.published():
        commits.setdefault(place.dataset_id, []).append(place.commit_id)
    return Have(Side.VOLUME, {dataset: sorted(found) for dataset, found in commits.items()})


def _open(root: Path, lake: str) -> CacheVolume:
    blank = CacheVolume(root=root, id="")
    with explained(blank):
        identity = read_identity(blank)
    if identity is None:
        volume = CacheVolume(root=root, id=new_id())
        adopt(volume, lake)
        return volume
    if identity.lake != lake:
        raise VolumeProblem(
            f"{root} is a volume of another lake than the export comes from.",
            hint="Import the file at the server of that lake, or into an empty directory.",
        )
    _check_owner(blank)
    return CacheVolume(root=root, id=identity.volume)


def _known(root: Path) -> CacheVolume:
    blank = CacheVolume(root=root, id="")
    with explained(blank):
        identity = read_identity(blank)
    if identity is None:
        raise VolumeProblem(f"{root} is not a volume of Millpond.", hint="Name the directory of a volume.")
    return CacheVolume(root=root, id=identity.volume)


def _check_owner(volume: CacheVolume) -> None:
    """What another user makes there could not be evicted by the agent."""
    owner = volume.identity.stat().st_uid
    if owner != os.geteuid():
        raise VolumeProblem(
            f"The volume at {volume.root} belongs to user {owner}, and this command runs as user {os.geteuid()}.",
            hint=f"Run it as the user of the agent: sudo -u '#{owner}' mill data import …",
        )


def _check_bases(volume: CacheVolume, file: ExportFile) -> None:
    for one in file.manifest.commits:
        base = file.manifest.base_of(one)
        if base is None or volume.commit(_place(one)).is_dir():
            continue
        if file.manifest.side is not Side.VOLUME:
            raise Conflict(
                f"{file.path.name} holds only what a server lacked.",
                hint="Import it at that server; or export again with: mill data have --volume DIRECTORY",
            )
        if not volume.commit(CommitPlace(base.project_id, base.dataset_id, base.id)).is_dir():
            raise Conflict(
                f"Cannot import {file.path.name}: it holds only what differs from commit {base.id[:12]}, which is not "
                f"on the volume at {volume.root}.",
                hint="Import that commit first, or export again without --have.",
            )


def _import(
    volume: CacheVolume, file: ExportFile, one: ExportedCommit, before: BaseTree | None, progress: Progress | None
) -> ImportedTree:
    place = _place(one)
    path = volume.commit(place)
    file.commit_document(one)  # the id names this tree: what is published under it must be that
    if path.is_dir():
        return ImportedTree(one, path, is_new=False)
    _check_room(volume, one)
    _make_door(volume, one.project_id)
    base = file.manifest.base_of(one)
    bases = [before] if before is not None else []
    if base is not None:
        there = volume.commit(CommitPlace(base.project_id, base.dataset_id, base.id))
        bases.append(BaseTree(there, base.tree, file))
    try:
        fill(begin_import(volume, place), one.tree, file, bases=bases, progress=progress)
    except Corrupt as error:
        if base is None:
            raise
        raise Corrupt(
            f"Cannot make {one.dataset}@{one.ref} of {file.path.name} and commit {base.id[:12]}: {error.message}",
            hint="Files of that commit may have been altered on the volume. Export again without --have.",
        ) from error
    return ImportedTree(one, path, is_new=True)


def _check_room(volume: CacheVolume, one: ExportedCommit) -> None:
    free = volume.space().free_bytes
    if one.base is None and free < one.bytes:
        raise DiskFull(
            f"{one.dataset}@{one.ref} takes {format_bytes(one.bytes)}, and {format_bytes(free)} are free on the disk "
            f"of the volume at {volume.root}.",
            hint="Free space there, or clear cached commits.",
        )


def _make_door(volume: CacheVolume, project_id: str) -> None:
    """Where projects are kept apart, nobody enters a new one's directory before the agent has said who may."""
    door = volume.commits / project_id
    if is_set_apart(volume) and not door.exists():
        with explained(volume):
            door.mkdir(mode=stat.S_IRWXU)


def _place(one: ExportedCommit) -> CommitPlace:
    return CommitPlace(one.project_id, one.dataset_id, one.id)


def _pointer(one: ExportedCommit) -> Pointer:
    return Pointer(one.project, one.dataset, one.branch or "", _place(one))
