"""All workspaces that the server lists to this agent; what is not listed is left as it is."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.claims import Claims
from millpond.agent.isolation import Isolation
from millpond.agent.keeper.clock import boot_time
from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes
from millpond.agent.workspaces.claim_disk import ClaimDisk
from millpond.agent.workspaces.claims_left import LiveNames, runs_left, spaces_of, sweep
from millpond.agent.workspaces.disk import Disk, FetchSource, KeepSnapshot, ReadRows, WorkspaceDisk
from millpond.agent.workspaces.freezing import frozen, mounted_by, thaw_all
from millpond.agent.workspaces.work import WorkspaceCancelled, WorkspaceWork
from millpond.errors import MillError, ServerUnreachable
from millpond.lake.nursery import Nursery
from millpond.volumes.volume import CacheVolume
from millpond.volumes.workspaces.create import mount_workspace
from millpond.volumes.workspaces.layout import WorkspaceFolder, read_workspace, workspaces
from millpond.volumes.workspaces.overlay import unmount
from millpond.volumes.workspaces.removal import find_leftovers, remove_made
from millpond.volumes.workspaces.restore import finish_restore
from millpond.volumes.workspaces.trees import TreeTools
from millpond.wire.desired import DesiredVolume
from millpond.wire.workspaces import DesiredWorkspace, WorkspaceSeen

log = logging.getLogger(__name__)

# What cannot be removed yet is tried again after so long.
LEFTOVER_SECONDS = 5.0


def _no_lake(*_: object) -> None:
    raise MillError("This agent reads no commits.")


def _keeps_nothing(*_: object) -> str:
    raise MillError("This agent keeps no snapshots.")


@dataclass(frozen=True, slots=True)
class WorkspaceLake:
    """How commits come into a tree, and snapshots into the lake. Each call blocks, and may be made again."""

    fetch: FetchSource = _no_lake
    keep: KeepSnapshot = _keeps_nothing
    # Nothing: then the first kept snapshot is read whole.
    rows: ReadRows = lambda desired, source: iter(())


@dataclass(frozen=True, slots=True)
class OnClaims:
    """Workspaces that are claims of a cluster; `server` is where programs in its pods reach the server."""

    claims: Claims
    server: str


class Workspaces:
    """`placements` is where the directories of placements lie: their jobs are frozen while a tree is copied."""

    def __init__(
        self,
        volumes: Volumes,
        isolation: Isolation,
        lake: WorkspaceLake,
        placements: Path,
        changed: Callable[[], None],
        on_claims: OnClaims | None = None,
    ) -> None:
        self._volumes, self._isolation, self._lake = volumes, isolation, lake
        self._placements, self._changed = placements, changed
        self._on_claims = on_claims
        self._live = LiveNames()
        self._nursery = Nursery()
        self._works: dict[str, WorkspaceWork] = {}
        self._ending: list[WorkspaceWork] = []
        self._layering: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        # Volumes whose leftovers are known: nothing is begun there before.
        self._tidying: dict[str, asyncio.Task[None]] = {}
        self._tidy: set[str] = set()
        self._until = float("-inf")
        thaw_all(placements)

    def reconcile(self, desired: Sequence[DesiredWorkspace], volumes: Sequence[DesiredVolume], until: float) -> None:
        """`until` is the boot time until which work may be started without contact to the server."""
        self._until = until
        self._tend({volume.id for volume in volumes if volume.tended})
        wanted = {one.id: one for one in desired}
        for gone in self._works.keys() - wanted.keys():
            work = self._works.pop(gone)
            work.end()
            self._ending.append(work)
        self._ending = [work for work in self._ending if not work.is_over]
        for workspace_id, one in wanted.items():
            if workspace_id in self._works:
                self._works[workspace_id].want(one)
            elif not any(work.desired.id == workspace_id for work in self._ending):  # or its threads are still at work
                self._works[workspace_id] = self._begin(one)

    def seen(self) -> list[WorkspaceSeen]:
        return [work.seen() for work in self._works.values()]

    @property
    def are_going_on(self) -> bool:
        return any(work.is_going_on for work in self._works.values()) or bool(self._ending)

    def end(self) -> None:
        """Give up what is under way. Overlays that no job has are unmounted; the next agent mounts them again."""
        for work in self._works.values():
            work.end()
        for task in self._tidying.values():
            task.cancel()
        self._nursery.close()
        for volume_id in self._tidy:
            volume, features = self._volumes.healthy(volume_id), self._volumes.features(volume_id)
            if volume is not None and features is not None and features.overlay:
                _unmount_unused(volume, self._placements)

    def _begin(self, desired: DesiredWorkspace) -> WorkspaceWork:
        lock = self._layering[desired.volume_id, desired.project_id]
        return WorkspaceWork(desired, self._disk, self._lake.keep, lock, self._changed)

    def _disk(self, work: WorkspaceWork) -> Disk | None:
        """The workspace on its volume; None while that is not well, or not known to be tidy."""
        wanted = work.desired
        volume = self._volumes.healthy(wanted.volume_id)
        features = self._volumes.features(wanted.volume_id)
        if volume is None or features is None or wanted.volume_id not in self._tidy:
            return None
        tools = TreeTools(
            volume,
            self._nursery,
            None if features.squashed or wanted.storage_class else self._uid(wanted.account),
            subvolumes=features.subvolumes,
            overlay=features.overlay,
            progress=work.progress,
        )
        folder = WorkspaceFolder(volume, wanted.project_id, wanted.id)
        if wanted.storage_class:
            return self._claim_disk(work, tools, folder)
        return WorkspaceDisk(
            tools,
            folder,
            self._lake.fetch,
            self._lake.rows,
            partial(frozen, self._placements, in_use=wanted.in_use),
            partial(self._check_wanted, work.cancelled, work),
            features.quota,
        )

    def _claim_disk(self, work: WorkspaceWork, tools: TreeTools, folder: WorkspaceFolder) -> ClaimDisk | None:
        if self._on_claims is None:
            work.waits("The agent that looks after its volume makes no claims of a Kubernetes cluster.")
            return None
        wanted = partial(self._check_wanted, work.cancelled, work)
        reach = self._on_claims
        return ClaimDisk(reach.claims, tools, folder, work.desired, reach.server, wanted, self._live, work.waits)

    def _uid(self, account: int) -> int | None:
        return self._isolation.group_of(account) if account else None

    def _check_wanted(self, cancelled: threading.Event, work: WorkspaceWork) -> None:
        """Raises without contact to the server for so long that another agent may be at work.

        Asked after the attempt's directory is there: a process that was stopped before that notices it here, and one
        that is stopped later finds its directory gone.
        """
        if cancelled.is_set() and work.desired.want == "present":
            raise WorkspaceCancelled("The workspace is no longer wanted.")
        if boot_time() > self._until:
            raise ServerUnreachable("No contact to the server.")

    # What was left

    def _tend(self, tended: set[str]) -> None:
        for gone in self._tidying.keys() - tended:
            self._tidying.pop(gone).cancel()
            self._tidy.discard(gone)
        for volume_id in tended - self._tidying.keys():
            self._tidying[volume_id] = asyncio.create_task(self._tidy_up(volume_id), name=f"workspaces {volume_id}")

    async def _tidy_up(self, volume_id: str) -> None:
        """Before anything is begun on a volume: mount overlays, and see what was left, which is removed beside."""
        while (volume := self._volumes.healthy(volume_id)) is None:
            await asyncio.sleep(0.1)
        try:
            left = await in_thread(partial(_look_after, volume))
        except (MillError, OSError) as error:
            log.warning("cannot look after workspaces: volume=%s %s", volume_id, error)
            left = []
        self._tidy.add(volume_id)
        await self._sweep_claims(volume)
        while left:
            left = [path for path in left if not await self._removed(path)]
            await asyncio.sleep(LEFTOVER_SECONDS if left else 0)

    async def _sweep_claims(self, volume: CacheVolume) -> None:
        """What was left on the cluster, before its documents go."""
        if self._on_claims is None:
            return
        claims = self._on_claims.claims
        while True:
            try:
                left = await in_thread(lambda: sweep(claims, volume, spaces_of(claims, volume), {}, self._live))
            except EngineAway:
                await asyncio.sleep(LEFTOVER_SECONDS)
                continue
            except (MillError, OSError) as error:
                log.warning("cannot look for claims that were left: volume=%s %s", volume.id, error)
                return
            for one in left:
                log.info("removed what was left of a workspace: %s %s/%s", one.kind, one.space, one.name)
            return

    async def _removed(self, path: Path) -> bool:
        """False while somebody has something of it open, or processes of an agent that was killed still end."""
        log.info("removing what was left of a workspace: %s", path)
        try:
            return await in_thread(partial(remove_made, path, self._nursery))
        except (MillError, OSError) as error:
            log.warning("cannot remove %s: %s", path, error)
            return False


def _unmount_unused(volume: CacheVolume, placements: Path) -> None:
    used = mounted_by(placements)
    for folder in workspaces(volume):
        try:
            document = read_workspace(folder)
            if document is not None and document.is_overlay and folder.tree not in used:
                unmount(folder.tree)
        except (MillError, OSError) as error:
            log.warning("cannot unmount workspace %s: %s", folder.id, error)


def _look_after(volume: CacheVolume) -> list[Path]:
    for folder in workspaces(volume):
        try:
            document = finish_restore(folder)
            if document is not None:
                mount_workspace(folder, document)
        except (MillError, OSError) as error:
            log.warning("cannot mount workspace %s: %s", folder.id, error)
    return [*find_leftovers(volume), *runs_left(volume)]
