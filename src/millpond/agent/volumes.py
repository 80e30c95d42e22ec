"""Volumes of the site as this agent sees them: checked regularly and after every change."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from millpond.agent.isolation import Isolation
from millpond.agent.threads import in_thread
from millpond.agent.tiers import Tiers
from millpond.errors import DiskFull, MillError
from millpond.volumes.groups import set_apart
from millpond.volumes.pointers import path_name
from millpond.volumes.probe import probe
from millpond.volumes.volume import CacheVolume, adopt, check, recognise
from millpond.volumes.workspaces.probe import probe_workspaces
from millpond.wire.desired import DesiredVolume
from millpond.wire.observed import CommitSeen, TierSeen, VolumeFeatures, VolumeSeen

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0
# How much is free is looked at in between: who made room on a full disk asks again at once.
ROOM_SECONDS = 1.0
# So much more of the disk is free: worth telling at once.
_MORE = 0.001
# A healthy file server answers in milliseconds; longer than this is told as a problem while the look goes on.
SLOW_SECONDS = 20.0


class Volumes:
    """One watch per desired volume. `changed` is called when what there is to report has changed."""

    def __init__(
        self,
        state_dir: Path,
        changed: Callable[[], None],
        isolation: Isolation | None = None,
        tiers: Tiers | None = None,
    ) -> None:
        self._state_dir = state_dir
        self._isolation = isolation or Isolation()
        self._tiers = tiers or Tiers()
        self._changed = changed
        self._watches: dict[str, VolumeWatch] = {}

    def reconcile(self, desired: Sequence[DesiredVolume]) -> None:
        wanted = {volume.id: volume for volume in desired}
        for gone in self._watches.keys() - wanted.keys():
            self._watches.pop(gone).end()
            self._tiers.forget(gone)
        for volume in desired:
            known = self._watches.get(volume.id)
            if known is None or (known.volume.root, known.visited) != (Path(volume.path), volume.visited):
                if known is not None:
                    known.end()
                self._watches[volume.id] = VolumeWatch(
                    volume, self._state_dir, self._changed, self._isolation, self._tiers
                )
            else:
                known.allow(volume)
        self._isolation.hide("volumes", [watch.volume.root for watch in self._watches.values()])

    def seen(self) -> list[VolumeSeen]:
        """What was found; a volume that was not looked at yet is left out."""
        return [watch.seen for watch in self._watches.values() if watch.seen is not None]

    def watched(self) -> list[VolumeWatch]:
        """Those of the agent's own site."""
        return [watch for watch in self._watches.values() if not watch.visited]

    def working(self) -> list[VolumeWatch]:
        """Those of the agent's own site that have no problem, in the same order for every agent."""
        return sorted(
            (one for one in self.watched() if one.seen and one.seen.problem is None), key=lambda one: one.volume.id
        )

    @property
    def are_open(self) -> bool:
        """Whether jobs could read what is cached of other projects: nothing hides it, and no group keeps it."""
        known = [watch.seen.features for watch in self.watched() if watch.seen and watch.seen.features]
        return not self._isolation.views and any(not features.groups for features in known)

    async def set_apart(self, volume_id: str, project_id: str) -> None:
        """Before anything of the project is published there."""
        watch = self._watches.get(volume_id)
        if watch is not None:
            await in_thread(lambda: watch.set_apart([project_id]))

    def healthy(self, volume_id: str) -> CacheVolume | None:
        watch = self._watches.get(volume_id)
        return watch.volume if watch and watch.seen and watch.seen.problem is None else None

    def features(self, volume_id: str) -> VolumeFeatures | None:
        """What was tried out there; None before that."""
        watch = self._watches.get(volume_id)
        return watch.seen.features if watch and watch.seen else None

    def published(self, volume_id: str) -> Sequence[CommitSeen]:
        """What was found there last."""
        watch = self._watches.get(volume_id)
        return watch.seen.commits or () if watch and watch.seen else ()

    async def look(self, volume_id: str) -> None:
        """Look at the volume now. What is reported afterwards includes everything done before the call."""
        watch = self._watches.get(volume_id)
        if watch is not None:
            await watch.look()

    def end(self) -> None:
        for watch in self._watches.values():
            watch.end()


class VolumeWatch:
    def __init__(
        self,
        desired: DesiredVolume,
        state_dir: Path,
        changed: Callable[[], None],
        isolation: Isolation,
        tiers: Tiers,
    ) -> None:
        self._isolation = isolation
        self._tiers = tiers
        self._rate: int | None = None
        self.volume = CacheVolume(root=Path(desired.path), id=desired.id)
        self.seen: VolumeSeen | None = None
        self._changed = changed
        self._lake = desired.lake
        # It belongs to another site, whose agents look after it.
        self.visited = desired.visited
        # Once seen well, an empty directory at its path is a missing mount and never again a new volume.
        self._met = state_dir / f"volume-{desired.id}"
        self._may_adopt = False
        self._others: list[str] | None = None
        self.allow(desired)
        self._features: VolumeFeatures | None = None
        self._looking = asyncio.Lock()
        self._task = asyncio.create_task(self._watch(), name=f"volume {desired.id}")

    def allow(self, desired: DesiredVolume) -> None:
        """Whether an empty directory may become the volume. The server says it to one agent, while it is new."""
        self._may_adopt = desired.new and not self._met.exists()
        self._others = desired.others
        self.tended = desired.tended
        self._accounts = desired.accounts
        self._names = {(one.project_id, path_name(one.project)) for one in desired.pointers}
        before, self._rate = self._rate, desired.bytes_per_second
        if before != self._rate and self.seen is not None:
            self._retiering = asyncio.create_task(self.look(self._look_at_tier), name=f"tier {desired.id}")

    def end(self) -> None:
        self._task.cancel()

    async def look(self, how: Callable[[], VolumeSeen] | None = None) -> None:
        async with self._looking:
            looking = asyncio.ensure_future(in_thread(how or self._look))
            with contextlib.suppress(TimeoutError):
                self._take(await asyncio.wait_for(asyncio.shield(looking), SLOW_SECONDS))
                return
            self._take(VolumeSeen(id=self.volume.id, problem=f"{self.volume.root} does not respond."))
            self._take(await looking)

    async def _watch(self) -> None:
        looks = max(1, round(LOOK_SECONDS / ROOM_SECONDS))
        for number in itertools.cycle(range(looks)):
            try:
                if number == 0:
                    await self.look()
                elif self.seen and self.seen.disk_free_bytes is not None:
                    await self.look(self._look_at_room)
            except Exception:
                log.exception("check failed: volume=%s", self.volume.id)
            await asyncio.sleep(LOOK_SECONDS / looks)

    def _look(self) -> VolumeSeen:
        return self._visit() if self.visited else self._look_after()

    def _visit(self) -> VolumeSeen:
        """Whether it is mounted here, and the right one; what lies there is for others to tell."""
        try:
            recognise(self.volume)
        except (MillError, OSError) as error:
            return VolumeSeen(id=self.volume.id, problem=sentence(error))
        return VolumeSeen(id=self.volume.id, tier=self._tier())

    def _look_after(self) -> VolumeSeen:
        try:
            if self._may_adopt:
                adopt(self.volume, self._lake, others=self._others)
            check(self.volume)
            self._probe()
            self.set_apart(self._accounts)
            space = self.volume.space()
            published = self.volume.published()
        except (MillError, OSError) as error:
            return VolumeSeen(id=self.volume.id, problem=sentence(error))
        if self._may_adopt:
            self._met.touch()
            self._may_adopt = False
        return VolumeSeen(
            id=self.volume.id,
            disk_total_bytes=space.total_bytes,
            disk_free_bytes=space.free_bytes,
            inodes_total=space.total_inodes,
            inodes_free=space.free_inodes,
            features=self._features,
            commits=[CommitSeen.model_validate(asdict(place)) for place in published],
            tier=self._tier(),
        )

    def _look_at_room(self) -> VolumeSeen:
        """As it was seen last, with what is free now."""
        before = self.seen
        if before is None or before.problem:
            return self._look()
        try:
            recognise(self.volume)
            space = self.volume.space()
        except (MillError, OSError) as error:
            return VolumeSeen(id=self.volume.id, problem=sentence(error))
        return before.model_copy(update={"disk_free_bytes": space.free_bytes, "inodes_free": space.free_inodes})

    def _look_at_tier(self) -> VolumeSeen:
        """As it was seen last, with the limit that holds now."""
        before = self.seen
        if before is None or before.problem:
            return self._look()
        return before.model_copy(update={"tier": self._tier()})

    def _tier(self) -> TierSeen | None:
        with contextlib.suppress(OSError):  # it is looked at again in a moment
            return self._tiers.apply(self.volume.id, self.volume.root, self._rate)
        return None

    def _probe(self) -> None:
        """Once: a file system does not learn. Not on a full disk, where little can be tried out."""
        if self._features is None:
            with contextlib.suppress(DiskFull):
                accounts = self._isolation.accounts
                tried = probe(self.volume, group=accounts.first if accounts else None)
                also = probe_workspaces(self.volume, uid=accounts.first if accounts else None)
                self._features = VolumeFeatures.model_validate({**asdict(tried), **asdict(also)})

    def set_apart(self, projects: Iterable[str]) -> None:
        """Close what is cached of these projects to others, where this agent can and looks after the volume."""
        if self._features is None or not self._features.groups:
            return
        for project_id in projects:
            number = self._accounts.get(project_id)
            gid = self._isolation.group_of(number) if number else None
            if gid is not None:
                names = tuple(name for owner, name in self._names if owner == project_id)
                set_apart(self.volume, project_id, gid, names)

    def _take(self, seen: VolumeSeen) -> None:
        before, self.seen = self.seen, seen
        if before and _has_more_room(before, seen):
            self._changed()
        if before is not None and before.tier != seen.tier:
            self._changed()
        if before is None or (before.problem, before.commits) != (seen.problem, seen.commits):
            if seen.problem:
                log.warning("volume problem: volume=%s %s", seen.id, seen.problem)
            elif before is None or before.problem:
                log.info("volume ok: volume=%s path=%s", seen.id, self.volume.root)
            self._changed()


def _has_more_room(before: VolumeSeen, seen: VolumeSeen) -> bool:
    bytes_more = (seen.disk_free_bytes or 0) - (before.disk_free_bytes or 0)
    inodes_more = (seen.inodes_free or 0) - (before.inodes_free or 0)
    return bytes_more > _MORE * (seen.disk_total_bytes or 0) or inodes_more > _MORE * (seen.inodes_total or 0)


def sentence(error: MillError | OSError) -> str:
    """The message and hint of an error, for people."""
    if isinstance(error, MillError):
        return f"{error.message} {error.hint}" if error.hint else error.message
    return str(error)
