"""What is done for one workspace that is a claim of a cluster: blocking calls, as those of `WorkspaceDisk`.

The documents lie on the volume as those of other workspaces; the tree is on the claim, and programs in pods work on it.
A claim is there once a document names it. Whatever else has the workspace's label is what an interrupted attempt left.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.claims import (
    ClaimProgram,
    ClaimRefused,
    Claims,
    Kind,
    MountedClaim,
    Named,
    NewClaim,
    StorageClass,
)
from millpond.agent.spec import Mount
from millpond.agent.workspaces.claim_task import (
    CLAIM,
    ORIGIN,
    PROGRESS,
    RESULT,
    TASK,
    TREE,
    ClaimResult,
    ClaimTask,
    write,
)
from millpond.agent.workspaces.claims_left import RUN, WORKSPACE, LiveNames, labels_of, sweep
from millpond.agent.workspaces.disk import KeepSnapshot, StillWanted
from millpond.errors import Conflict, MillError, NotFound, Unavailable
from millpond.volumes.volume import CommitPlace, sync_directory
from millpond.volumes.workspaces.create import begin_making
from millpond.volumes.workspaces.layout import (
    SnapshotDocument,
    WorkspaceDocument,
    WorkspaceFolder,
    read_snapshot,
    read_workspace,
    write_snapshot,
    write_workspace,
)
from millpond.volumes.workspaces.removal import remove_made
from millpond.volumes.workspaces.space import WorkspaceSpace
from millpond.volumes.workspaces.tree_process import Done
from millpond.volumes.workspaces.trees import TreeTools
from millpond.wire.workspaces import DesiredSnapshot, DesiredSource, DesiredWorkspace

_PROGRAM = "millpond.agent.workspaces.claim_task"


@dataclass(frozen=True, slots=True)
class _Made:
    """A claim with the tree on it."""

    name: Named
    how: str
    result: ClaimResult
    reason: str = ""
    consistency: str = "atomic"


@dataclass(frozen=True, slots=True)
class ClaimDisk:
    """One workspace on its claim. `waits` is told what is waited for, "" if nothing is known."""

    claims: Claims
    tools: TreeTools
    folder: WorkspaceFolder
    desired: DesiredWorkspace
    server: str
    wanted: StillWanted
    live: LiveNames
    waits: Callable[[str], None] = field(default=lambda text: None)
    quota: str = "claim"

    def look(self) -> WorkspaceDocument | None:
        return read_workspace(self.folder)

    def create(self, desired: DesiredWorkspace) -> tuple[WorkspaceDocument, float]:
        began = time.monotonic()
        with self._attempt(desired.attempt) as making:
            if (found := self.look()) is not None:
                return found, 0.0
            made = self._make(making, desired.source)
            document = WorkspaceDocument(
                self.folder.id, desired.attempt, made.how, reason=made.reason, consistency=made.consistency,
                source=_source(desired.source), size_bytes=desired.size_bytes, files=made.result.files,
                bytes=made.result.bytes, claim=made.name.name, claim_space=made.name.space,
                storage_class=desired.storage_class,
            )  # fmt: skip
            self._appear(making, document)
        return document, time.monotonic() - began

    def mount(self, document: WorkspaceDocument) -> None:
        """Pods do that."""

    def set_size(self, document: WorkspaceDocument, size_bytes: int) -> WorkspaceDocument:
        self.claims.resize(_claim(document), size_bytes)
        changed = replace(document, size_bytes=size_bytes)
        write_workspace(self.folder.document, changed)
        return changed

    def restore(self, desired: DesiredWorkspace) -> WorkspaceDocument:
        """Onto a new claim, which the document names in place of the old one."""
        assert desired.restore is not None
        with self._attempt(desired.restore.attempt) as making:
            before = self._document()
            if before.restored == desired.restore.attempt:
                return before
            made = self._make(making, desired.restore.source)
            after = replace(
                before, claim=made.name.name, claim_space=made.name.space, how=made.how, reason=made.reason,
                restored=desired.restore.attempt, files=made.result.files, bytes=made.result.bytes,
            )  # fmt: skip
            self.wanted()
            write_workspace(self.folder.document, after)
            self.claims.remove(_claim(before))
        return after

    def snapshot(self, wanted: DesiredSnapshot) -> SnapshotDocument:
        """Frozen by the cluster where its class can; else kept in the lake at once."""
        self.wanted()
        if (known := read_snapshot(self.folder, wanted.number)) is not None:
            return known
        document = self._document()
        taken = SnapshotDocument(
            wanted.number, wanted.name, time.time(), "atomic", files=document.files, bytes=document.bytes
        )
        snapshot_class = self._class(document.storage_class).snapshot_class
        with self._making():
            if snapshot_class:
                frozen = self._named("snapshot", document.claim_space)
                self.claims.snapshot(frozen, _claim(document), snapshot_class, self._labels)
                self.claims.wait_for_snapshot(frozen, self._waiting)
                taken = replace(taken, volume_snapshot=frozen.name)
            else:
                kept = self._kept(wanted, _claim(document))
                consistency = "per-file" if self.desired.in_use else "atomic"
                taken = replace(
                    taken, is_near=False, kept_commit=kept.commit, files=kept.files, bytes=kept.bytes,
                    consistency=consistency,
                )  # fmt: skip
            write_snapshot(self.folder, taken)
        return taken

    def keep(self, desired: DesiredWorkspace, wanted: DesiredSnapshot, keep: KeepSnapshot) -> SnapshotDocument:
        """Commit what the cluster froze, from a claim that begins as that and goes again."""
        known = read_snapshot(self.folder, wanted.number)
        if known is None:
            raise NotFound(f"Snapshot {wanted.name!r} is no longer on its storage.")
        if known.kept_commit is not None:
            return known
        document = self._document()
        frozen = Named("snapshot", document.claim_space, known.volume_snapshot)
        with self._making():
            view = self._claim_of(document.claim_space, origin=frozen)
            try:
                kept = self._kept(wanted, view)
            finally:
                self.claims.remove(view)
        after = replace(known, kept_commit=kept.commit, files=kept.files, bytes=kept.bytes)
        write_snapshot(self.folder, after)
        return after

    def remove_snapshot(self, number: int) -> None:
        self.wanted()
        known = read_snapshot(self.folder, number)
        if known is None:
            return
        if known.volume_snapshot:
            self.claims.remove(Named("snapshot", self._document().claim_space, known.volume_snapshot))
        self.folder.snapshot_document(number).unlink(missing_ok=True)
        sync_directory(self.folder.snapshots)

    def set_aside(self) -> list[Path]:
        """Its documents are taken away; what is on the cluster is found by its label then."""
        self.wanted()
        with suppress(FileNotFoundError):
            self.folder.path.rename(self.folder.removing())
            sync_directory(self.folder.project)
        return self.folder.leftovers()

    def remove(self, aside: list[Path]) -> bool:
        self._sweep()
        return not [path for path in aside if not remove_made(path, self.tools.nursery)]

    def measure(self) -> WorkspaceSpace | None:
        document = self.look()
        if document is None:
            return None
        task = ClaimTask(do="measure")
        with self._making():
            found = self._run(task, [MountedClaim(_claim(document), CLAIM)])
        return WorkspaceSpace(found.allocated_bytes, 0, found.files, found.bytes)

    def measure_snapshot(self, number: int) -> int:
        """Unknown: only the storage knows what its snapshots take."""
        return 0

    # Making

    @contextmanager
    def _attempt(self, attempt: int) -> Iterator[Path]:
        """A directory for what an attempt makes. What earlier ones have left goes first, and what this one leaves."""
        making = begin_making(self.tools, self.folder, attempt)
        try:
            self.wanted()
            self._sweep()
            with self._making():
                yield making
        finally:
            remove_made(making, self.tools.nursery)

    @contextmanager
    def _making(self) -> Iterator[None]:
        """What is made in the block, and named by no document if it fails, is removed again."""
        try:
            with self.live.held():
                yield
        except BaseException:
            with suppress(MillError, OSError):
                self._sweep()
            raise

    def _make(self, making: Path, source: DesiredSource) -> _Made:
        """A new claim that holds the source, by the best way that the cluster has."""
        space = self.claims.space_of(self.desired.project)
        reason = ""
        if (origin := self._clonable(source)) is not None:
            name = self._claim_of(space, origin=origin)
            try:
                task = ClaimTask(do="make", cloned=True)
                result = self._run(task, [MountedClaim(name, CLAIM, writable=True)], making)
                if not result.not_cloned:
                    return _Made(name, "csi", result)
                reason = f"{self.desired.storage_class} made an empty claim instead of a clone"
            except ClaimRefused as error:
                reason = str(error)
            self.claims.remove(name)
            if origin.kind == "snapshot":
                raise Unavailable(f"The cluster cannot make a claim from VolumeSnapshot {origin.name}: {reason}")
        name = self._claim_of(space)
        task, mounts, claims = self._filling(source)
        result = self._run(task, [MountedClaim(name, CLAIM, writable=True), *claims], making, mounts)
        how = {"empty": "empty", "commit": "fill"}.get(source.kind, "copy")
        how = "copy" if task.from_commit else how
        # Nothing keeps jobs from writing to a claim that is copied.
        consistency = "per-file" if result.torn or source.kind == "workspace" else "atomic"
        return _Made(name, how, result, reason, consistency)

    def _clonable(self, source: DesiredSource) -> Named | None:
        """What the cluster may make the claim from by itself."""
        if source.kind not in ("workspace", "snapshot"):
            return None
        of = replace(self.folder, id=source.workspace_id or self.folder.id)
        document = read_workspace(of)
        if document is None:
            raise NotFound(f"Workspace {of.id} is not on the volume at {of.volume.root}.")
        if source.kind == "snapshot":
            known = read_snapshot(of, source.number)
            if known is None or not known.volume_snapshot:
                raise NotFound(f"Snapshot {source.number} of workspace {of.id} is no longer on its storage.")
            return Named("snapshot", document.claim_space, known.volume_snapshot)
        same = document.storage_class == self.desired.storage_class
        return _claim(document) if same and self._class(document.storage_class).clones else None

    def _filling(self, source: DesiredSource) -> tuple[ClaimTask, list[Mount], list[MountedClaim]]:
        """The program that fills a claim, and what it needs besides."""
        if source.kind == "empty":
            return ClaimTask(do="make"), [], []
        if source.kind == "commit" and source.cached:
            place = CommitPlace(source.project_id or self.desired.project_id, source.dataset_id, source.commit_id)
            path = str(self.tools.volume.commit(place))
            return ClaimTask(do="make", copy_from=path, from_commit=True), [Mount(path, path)], []
        if source.kind == "commit":
            return ClaimTask(do="make", server=self.server, desired=self.desired, fetch=source), [], []
        document = read_workspace(replace(self.folder, id=source.workspace_id))
        if document is None:
            raise NotFound(f"Workspace {source.workspace_id} is no longer on the volume.")
        return ClaimTask(do="make", copy_from=f"{ORIGIN}/{TREE}"), [], [MountedClaim(_claim(document), ORIGIN)]

    def _appear(self, making: Path, document: WorkspaceDocument) -> None:
        whole = self.folder.making(document.attempt)
        whole.mkdir(mode=0o700)
        (whole / "snapshots").mkdir(mode=0o700)
        write_workspace(whole / "workspace.json", document)
        self.wanted()
        # Gone if another attempt has begun meanwhile: then that one makes the workspace.
        making.stat()
        whole.rename(self.folder.path)
        sync_directory(self.folder.project)

    def _kept(self, wanted: DesiredSnapshot, claim: Named) -> ClaimResult:
        """Committed to the branch of the snapshot."""
        path = str(self.folder.path)
        task = ClaimTask(
            do="keep", server=self.server, desired=self.desired, snapshot=wanted, stat_cache=str(self.folder.kept_stat)
        )
        return self._run(task, [MountedClaim(claim, CLAIM)], mounts=[Mount(path, path, writable=True)])

    def _claim_of(self, space: str, origin: Named | None = None) -> Named:
        name = self._named("claim", space)
        size, many = self.desired.size_bytes, self.desired.many_nodes
        new = NewClaim(name, self.desired.storage_class, size, many, origin, self._labels, self.desired.name)
        self.claims.create(new)
        return name

    # Programs

    def _run(
        self, task: ClaimTask, claims: Sequence[MountedClaim], making: Path | None = None, mounts: Sequence[Mount] = ()
    ) -> ClaimResult:
        """What it has told at its end. Conflict for what trying again would not change."""
        own = making or self.folder.path / f"{RUN}{secrets.token_hex(4)}"
        own.mkdir(mode=0o700, exist_ok=True)
        for file in (RESULT, PROGRESS):
            (own / file).unlink(missing_ok=True)
        write(own / TASK, task.model_dump(mode="json"))
        name = self._named("job", claims[0].name.space)
        program = ClaimProgram(
            name, _PROGRAM, [str(own)], own / RESULT, claims, [Mount(str(own), str(own), writable=True), *mounts],
            self._labels,
        )  # fmt: skip
        try:
            self.claims.run(program, lambda why: self._tell(own / PROGRESS, why))
            result = ClaimResult.model_validate_json((own / RESULT).read_bytes())
        except EngineAway as error:
            raise Unavailable(f"The Kubernetes API does not answer: {error}") from error
        finally:
            if making is None:
                remove_made(own, self.tools.nursery)
        if result.problem is not None:
            raise (Unavailable if result.transient else Conflict)(result.problem, hint=result.hint)
        return result

    def _tell(self, progress: Path, why: str) -> None:
        """Raises if nobody wants it any more."""
        self.wanted()
        self.tools.progress(_done(progress))
        if why:
            self.waits(why)

    def _waiting(self, why: str) -> None:
        self.wanted()
        if why:
            self.waits(why)

    # Names

    def _named(self, kind: Kind, space: str) -> Named:
        name = Named(kind, space, f"mill-ws-{self.folder.id}-{secrets.token_hex(4)}")
        self.live.add(name)
        return name

    def _class(self, name: str) -> StorageClass:
        found = next((one for one in self.claims.classes() if one.name == name), None)
        if found is None:
            raise Unavailable(f"The cluster has no storage class {name!r} that this agent may use.")
        return found

    def _document(self) -> WorkspaceDocument:
        found = self.look()
        if found is None:
            raise NotFound(f"Workspace {self.folder.id} is not on the volume at {self.folder.volume.root}.")
        return found

    @property
    def _labels(self) -> dict[str, str]:
        return labels_of(self.folder)

    def _sweep(self) -> None:
        """Remove what attempts at this workspace have left on the cluster."""
        spaces = {self.claims.space_of(self.desired.project)}
        if (found := self.look()) is not None:
            spaces.add(found.claim_space)
        sweep(self.claims, self.folder.volume, spaces, {WORKSPACE: self.folder.id}, self.live)


def _claim(document: WorkspaceDocument) -> Named:
    return Named("claim", document.claim_space, document.claim)


def _source(source: DesiredSource) -> str:
    match source.kind:
        case "commit":
            return f"commit:{source.dataset_id}/{source.commit_id}"
        case "snapshot":
            return f"snapshot:{source.workspace_id}/{source.number}"
        case "workspace":
            return f"workspace:{source.workspace_id}"
    return "empty"


def _done(progress: Path) -> Done:
    try:
        told = json.loads(progress.read_bytes())
    except FileNotFoundError:
        return Done()
    return Done(files=told["files"], size=told["bytes"])
