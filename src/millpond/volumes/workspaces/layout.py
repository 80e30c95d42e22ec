"""Where the parts of a workspace lie on a volume, and the two documents that say what is whole.

A workspace is there when its directory is, which appears by one rename; a snapshot is there when its document is.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from millpond.errors import VolumeProblem
from millpond.volumes.volume import CacheVolume, sync_directory, write_durable

# Names that begin so belong to an attempt that is under way, or that was interrupted.
MAKING, REMOVING = ".making-", ".removing-"
LEFTOVERS = (MAKING, REMOVING)
# Among the snapshots: where those that are overlays are mounted to be read.
VIEWS = ".views"
_SNAPSHOT = re.compile(r"(\d+)\.json")


@dataclass(frozen=True, slots=True)
class WorkspaceDocument:
    """`workspace.json`: how the tree was made, and what it needs besides itself."""

    id: str
    attempt: int
    how: str
    # Why another way was taken than was asked for.
    reason: str = ""
    consistency: str = "atomic"
    # What it began with: `empty`, `commit:<dataset id>/<commit id>`, `snapshot:<workspace id>/<n>`, `workspace:<id>`.
    source: str = "empty"
    size_bytes: int = 0
    # How much it began with.
    files: int = 0
    bytes: int = 0
    is_subvolume: bool = False
    # The layers below an overlay, the uppermost first; see `overlay.Layers`.
    layers: tuple[str, ...] = ()
    # The attempt of the last restore, and one that is about to take its last step: a `PendingRestore`.
    restored: int = 0
    pending: dict[str, Any] | None = None
    # Its tree is on this claim of a cluster, whose class and namespace these are; nothing of it is on the volume.
    claim: str = ""
    claim_space: str = ""
    storage_class: str = ""

    @property
    def is_overlay(self) -> bool:
        return self.how == "overlay"


class PendingRestore(NamedTuple):
    """It is done if `part` of the workspace is what has this `identity`: written down before the two change places."""

    attempt: int
    part: str
    identity: int
    how: str
    is_subvolume: bool


@dataclass(frozen=True, slots=True)
class SnapshotDocument:
    """`snapshots/<n>.json`."""

    number: int
    name: str
    at: float
    # atomic, frozen or per-file.
    consistency: str
    files: int = 0
    bytes: int = 0
    is_subvolume: bool = False
    layers: tuple[str, ...] = ()
    # The directory on the volume is gone: what was kept of it is left.
    is_near: bool = True
    kept_commit: str | None = None
    # Of a claim: what the cluster has frozen.
    volume_snapshot: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    """The directory of one workspace. Paths only."""

    volume: CacheVolume = field(repr=False)
    project_id: str
    id: str

    @property
    def project(self) -> Path:
        """The door: only the account of the project, and the agent, enter it."""
        return self.volume.root / "workspaces" / self.project_id

    @property
    def path(self) -> Path:
        return self.project / self.id

    @property
    def tree(self) -> Path:
        """What jobs have: a directory, a subvolume, or where the overlay is mounted."""
        return self.path / "tree"

    @property
    def upper(self) -> Path:
        return self.path / "upper"

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def document(self) -> Path:
        return self.path / "workspace.json"

    @property
    def kept_stat(self) -> Path:
        """What the files of the last kept snapshot held (lake/statcache), by what they were in the tree."""
        return self.path / "kept.stat"

    @property
    def made_files(self) -> Path:
        """What the files of the tree were when it appeared (`identities`), if it began with a commit."""
        return self.path / "made.files"

    def snapshot(self, number: int) -> Path:
        return self.snapshots / str(number)

    def snapshot_document(self, number: int) -> Path:
        return self.snapshots / f"{number}.json"

    def identities(self, number: int) -> Path:
        """What the files of a snapshot were in the tree when it was taken (`identities`)."""
        return self.snapshots / f"{number}.files"

    def making(self, attempt: int) -> Path:
        """A new name for what an attempt makes, beside the workspace."""
        return self.project / f"{MAKING}{self.id}-{attempt}-{secrets.token_hex(4)}"

    def removing(self) -> Path:
        return self.project / f"{REMOVING}{self.id}-{secrets.token_hex(4)}"

    def leftovers(self) -> list[Path]:
        """What attempts at this workspace have left."""
        return [path for path in leftovers(self.project) if path.name.split("-")[1] == self.id]


def workspaces(volume: CacheVolume) -> Iterator[WorkspaceFolder]:
    """Every workspace of the volume that is whole."""
    for project in _directories(volume.root / "workspaces"):
        for path in _directories(project):
            if not path.name.startswith(".") and (path / "workspace.json").is_file():
                yield WorkspaceFolder(volume, project.name, path.name)


def is_workspace_tree(path: Path, volume: Path) -> bool:
    """True if this is where the tree of a workspace lies on the volume."""
    parts = path.relative_to(volume).parts if path.is_relative_to(volume) else ()
    return len(parts) == 4 and (parts[0], parts[3]) == ("workspaces", "tree") and not parts[2].startswith(".")


def leftovers(project: Path) -> list[Path]:
    """What attempts of a project have left. While one is under way, what it makes is among it."""
    return [path for path in _directories(project) if path.name.startswith(LEFTOVERS)]


def read_workspace(folder: WorkspaceFolder) -> WorkspaceDocument | None:
    """None if there is no such workspace. VolumeProblem for a document that cannot be read."""
    return read_document(folder.path)


def read_document(folder: Path) -> WorkspaceDocument | None:
    """The same of the directory of a workspace, wherever it is just now."""
    found = _read(folder / "workspace.json")
    return None if found is None else WorkspaceDocument(**_known(WorkspaceDocument, found))


def lacks_layer(tree: Path) -> bool:
    """Whether this is where an overlay belongs that is not mounted: what is written there now would be hidden later."""
    found = _read(tree.parent / "workspace.json") if tree.name == "tree" else None
    if found is None:
        return False
    return WorkspaceDocument(**_known(WorkspaceDocument, found)).is_overlay and not tree.is_mount()


def write_workspace(path: Path, document: WorkspaceDocument) -> None:
    write_durable(path, json.dumps({"format": 1, **asdict(document)}, indent=1, sort_keys=True))


def read_snapshot(folder: WorkspaceFolder, number: int) -> SnapshotDocument | None:
    """None if it was not taken, or not to its end."""
    found = _read(folder.snapshot_document(number))
    return None if found is None else SnapshotDocument(**_known(SnapshotDocument, found))


def snapshot_documents(folder: Path) -> list[SnapshotDocument]:
    """Of all snapshots that are whole, in the directory of a workspace."""
    found = [_read(path) for path in sorted((folder / "snapshots").glob("*.json"))]
    return [SnapshotDocument(**_known(SnapshotDocument, one)) for one in found if one is not None]


def write_snapshot(folder: WorkspaceFolder, document: SnapshotDocument) -> None:
    write_durable(folder.snapshot_document(document.number), json.dumps({"format": 1, **asdict(document)}, indent=1))


def snapshot_numbers(folder: WorkspaceFolder) -> list[int]:
    """Of all snapshots that are whole."""
    try:
        names = os.listdir(folder.snapshots)
    except FileNotFoundError:
        return []
    return sorted(int(found[1]) for found in map(_SNAPSHOT.fullmatch, names) if found)


def make_door(folder: WorkspaceFolder, gid: int | None) -> None:
    """The directory of the project, for its group alone; without groups, as the agent's umask has it."""
    above = folder.project.parent
    above.mkdir(exist_ok=True)
    folder.project.mkdir(mode=0o700, exist_ok=True)
    if gid is not None:
        above.chmod(0o711)
        if folder.project.stat().st_gid != gid:
            folder.project.chmod(0o700)
            os.chown(folder.project, -1, gid)
        folder.project.chmod(0o750)
    sync_directory(above)


def identity(path: Path) -> int:
    """Tells a directory from one that took its name, also after a restart: btrfs numbers subvolumes, others inodes."""
    from millpond.volumes.workspaces import btrfs  # noqa: PLC0415 - which needs names of this module

    return btrfs.subvolume_id(path) if btrfs.is_subvolume(path) else path.stat().st_ino


def _known(kind: type[Any], found: dict[str, Any]) -> dict[str, Any]:
    """Without what a newer version has added."""
    names = {one.name for one in fields(kind)}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items() if key in names}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise VolumeProblem(f"Cannot read {path}: {error}.") from error
    return found


def _directories(path: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError), os.scandir(path) as entries:
        yield from sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
