"""What is done on the disk for one workspace: blocking calls, each of which may be made again after any failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from millpond.errors import DiskFull
from millpond.lake.pages import Row
from millpond.model.quantity import format_bytes
from millpond.volumes.volume import CommitPlace
from millpond.volumes.workspaces.create import (
    NewWorkspace,
    begin_making,
    create_workspace,
    mount_workspace,
    set_size,
)
from millpond.volumes.workspaces.first_keep import remember_origin
from millpond.volumes.workspaces.layout import (
    SnapshotDocument,
    WorkspaceDocument,
    WorkspaceFolder,
    read_snapshot,
    write_snapshot,
)
from millpond.volumes.workspaces.removal import remove_made, remove_snapshot, set_workspace_aside
from millpond.volumes.workspaces.restore import finish_restore, restore_workspace
from millpond.volumes.workspaces.snapshots import NewSnapshot, SnapshotView, take_snapshot
from millpond.volumes.workspaces.space import WorkspaceSpace, measure_snapshot, measure_workspace
from millpond.volumes.workspaces.stillness import Freeze, Stillness
from millpond.volumes.workspaces.trees import Origin, TreeTools, of_commit, of_snapshot, of_workspace
from millpond.wire.workspaces import DesiredSnapshot, DesiredSource, DesiredWorkspace

# Writes the commit of a source into an empty directory.
FetchSource = Callable[[DesiredWorkspace, DesiredSource, Path], None]
# Commits a directory as the newest kept snapshot of a workspace: what to call it, what remembers unchanged files, and
# the record of what its files were. The commit's id.
KeepSnapshot = Callable[[DesiredWorkspace, DesiredSnapshot, Path, Path, Path], str]
# The entries of the commit of a source, page by page in the order of their paths.
ReadRows = Callable[[DesiredWorkspace, DesiredSource], Iterator[Sequence[Row]]]
# Raises if the work is no longer wanted, or the server's word no longer holds.
StillWanted = Callable[[], None]


class Disk(Protocol):
    """One workspace where it lies: every call may be made again after any failure, and blocks."""

    @property
    def quota(self) -> str:
        """What keeps it to its size, where something does."""
        ...

    def look(self) -> WorkspaceDocument | None: ...
    def create(self, desired: DesiredWorkspace) -> tuple[WorkspaceDocument, float]: ...
    def mount(self, document: WorkspaceDocument) -> None: ...
    def set_size(self, document: WorkspaceDocument, size_bytes: int) -> WorkspaceDocument: ...
    def restore(self, desired: DesiredWorkspace) -> WorkspaceDocument: ...
    def snapshot(self, wanted: DesiredSnapshot) -> SnapshotDocument: ...
    def keep(self, desired: DesiredWorkspace, wanted: DesiredSnapshot, keep: KeepSnapshot) -> SnapshotDocument: ...
    def remove_snapshot(self, number: int) -> None: ...
    def set_aside(self) -> list[Path]: ...
    def remove(self, aside: list[Path]) -> bool: ...
    def measure(self) -> WorkspaceSpace | None: ...
    def measure_snapshot(self, number: int) -> int: ...


@dataclass(frozen=True, slots=True)
class WorkspaceDisk:
    """One workspace on its volume. `freeze` keeps jobs that have a tree from writing to it."""

    tools: TreeTools
    folder: WorkspaceFolder
    fetch: FetchSource
    rows: ReadRows
    freeze: Callable[[Path], AbstractContextManager[Stillness]]
    wanted: StillWanted
    # What keeps a subvolume to its size.
    quota: str = "measured"

    def look(self) -> WorkspaceDocument | None:
        """What is there; a restore that was interrupted behind its last step is finished."""
        return finish_restore(self.folder)

    def create(self, desired: DesiredWorkspace) -> tuple[WorkspaceDocument, float]:
        """Make it, and mount it; the document and how long it took."""
        began = time.monotonic()
        making = begin_making(self.tools, self.folder, desired.attempt)
        try:
            self.wanted()
            origin = self._origin(desired, desired.source)
            self._check_room(desired, origin)
            new = NewWorkspace(
                desired.attempt,
                desired.how,
                size_bytes=desired.size_bytes,
                files=desired.source.files,
                bytes=desired.source.bytes,
            )
            made = create_workspace(self.tools, self.folder, making, origin, new, self._freezing(origin))
        finally:
            remove_made(making, self.tools.nursery)
        return made, time.monotonic() - began

    def mount(self, document: WorkspaceDocument) -> None:
        mount_workspace(self.folder, document)

    def set_size(self, document: WorkspaceDocument, size_bytes: int) -> WorkspaceDocument:
        return set_size(self.folder, document, size_bytes)

    def restore(self, desired: DesiredWorkspace) -> WorkspaceDocument:
        assert desired.restore is not None
        making = begin_making(self.tools, self.folder, desired.restore.attempt)
        try:
            self.wanted()
            origin = self._origin(desired, desired.restore.source)
            self._check_room(desired, origin)
            return restore_workspace(self.tools, self.folder, making, origin, desired.restore.attempt)
        finally:
            remove_made(making, self.tools.nursery)

    def snapshot(self, wanted: DesiredSnapshot) -> SnapshotDocument:
        self.wanted()
        new = NewSnapshot(wanted.number, wanted.name)
        return take_snapshot(self.tools, self.folder, new, partial(self.freeze, self.folder.tree))

    def keep(self, desired: DesiredWorkspace, wanted: DesiredSnapshot, keep: KeepSnapshot) -> SnapshotDocument:
        """Commit a near snapshot, once; what has not changed since the one before it is not read."""
        if desired.source.kind == "commit":
            remember_origin(self.folder, self.rows(desired, desired.source))
        with SnapshotView(self.folder, wanted.number) as tree:
            record = self.folder.identities(wanted.number)
            commit = keep(desired, wanted, tree, self.folder.kept_stat, record)
        known = read_snapshot(self.folder, wanted.number)
        assert known is not None
        kept = replace(known, kept_commit=commit)
        write_snapshot(self.folder, kept)
        return kept

    def remove_snapshot(self, number: int) -> None:
        self.wanted()
        remove_snapshot(self.folder, number, self.tools.nursery)

    def set_aside(self) -> list[Path]:
        """Take the workspace away, at once; what is to be removed then."""
        self.wanted()
        return set_workspace_aside(self.folder)

    def remove(self, aside: list[Path]) -> bool:
        return not [path for path in aside if not remove_made(path, self.tools.nursery)]

    def measure(self) -> WorkspaceSpace | None:
        return measure_workspace(self.folder, self.tools.nursery)

    def measure_snapshot(self, number: int) -> int:
        return measure_snapshot(self.folder, number, self.tools.nursery) if read_snapshot(self.folder, number) else 0

    def _origin(self, desired: DesiredWorkspace, source: DesiredSource) -> Origin:
        if source.kind == "empty":
            return Origin()
        if source.kind == "commit":
            place = CommitPlace(source.project_id or desired.project_id, source.dataset_id, source.commit_id)
            if source.cached:
                return of_commit(self.tools.volume, place)
            name = f"commit:{place.dataset_id}/{place.commit_id}"
            return Origin(name, fetch=lambda target: self.fetch(desired, source, target))
        folder = replace(self.folder, id=source.workspace_id or desired.id)
        return of_workspace(folder) if source.kind == "workspace" else of_snapshot(folder, source.number)

    def _freezing(self, origin: Origin) -> Freeze:
        """Keeps jobs from what is cloned: of an overlay, they write to its tree."""
        return partial(self.freeze, self.folder.tree if origin.path is None else origin.path.with_name("tree"))

    def _check_room(self, desired: DesiredWorkspace, origin: Origin) -> None:
        """DiskFull before the first byte, where it is known to be too much: what is not shared takes its size."""
        space = self.tools.volume.space()
        needed = desired.source.bytes if origin.fetch is not None or desired.how == "copy" else 0
        if needed + desired.reserve_bytes > space.free_bytes:
            raise DiskFull(
                f"The disk of the volume at {self.tools.volume.root} is too full: {format_bytes(space.free_bytes)} are "
                f"left, of which {format_bytes(desired.reserve_bytes)} are kept free, and the workspace takes "
                f"{format_bytes(needed)}.",
                hint="Free space there, or clear cached commits.",
            )
