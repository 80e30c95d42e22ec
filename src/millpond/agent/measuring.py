"""Measures shared bytes of trees on the volumes that this agent serves, where the server lacks them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol

from millpond.agent.threads import in_thread
from millpond.errors import MillError
from millpond.volumes.measure import Share, measure
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.wire.desired import DesiredMeasure, DesiredVolume
from millpond.wire.observed import ProjectShares, ShareSeen

log = logging.getLogger(__name__)

# Whenever a commit comes or goes, all of its project on the volume is looked at, file by file. Where that takes
# minutes, as over a network, it shall not go on for ever: after each look so many times as long nobody looks.
_RESTS = 9
# What is asked for meanwhile waits so long at most.
_LOOK_SECONDS = 0.5

# One project of one volume, and the commits of it that are asked for.
_Key = tuple[str, str, tuple[tuple[str, str], ...]]


class Healthy(Protocol):
    """The volumes of this agent."""

    def healthy(self, volume_id: str) -> CacheVolume | None: ...


class Measuring:
    """Measures each requested tree once, one by one; `changed` is called when there is something to report."""

    def __init__(
        self,
        volumes: Healthy,
        changed: Callable[[], None],
        *,
        look: Callable[[CacheVolume, Sequence[CommitPlace]], list[Share]] = measure,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._volumes = volumes
        self._changed = changed
        self._look = look
        self._clock = clock
        self._wanted: list[_Key] = []
        self._found: dict[_Key, ProjectShares] = {}
        # Of a project on a volume: when it may be looked at again.
        self._rested: dict[tuple[str, str], float] = {}
        self._task: asyncio.Task[None] | None = None

    def reconcile(self, desired: Sequence[DesiredVolume]) -> None:
        self._wanted = [_key(volume.id, wanted) for volume in desired for wanted in volume.measure]
        self._found = {key: found for key, found in self._found.items() if key in self._wanted}
        self._rested = {place: at for place, at in self._rested.items() if at > self._clock()}
        if (self._task is None or self._task.done()) and self._next() is not None:
            self._task = asyncio.create_task(self._measure(), name="measure")

    def shares_on(self, volume_id: str) -> list[ProjectShares]:
        return [found for key, found in self._found.items() if key[0] == volume_id]

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _measure(self) -> None:
        """A failure does not block the others, and is retried after the next exchange."""
        failed: set[_Key] = set()
        while (key := self._next(failed)) is not None:
            volume_id, project_id, commits = key
            volume = self._volumes.healthy(volume_id)
            if volume is None:
                failed.add(key)  # asked again when it is well
                continue
            began = self._clock()
            if (rest := self._rested_at(key) - began) > 0:
                await asyncio.sleep(min(rest, _LOOK_SECONDS))
                continue
            places = [CommitPlace(project_id, dataset_id, commit_id) for dataset_id, commit_id in commits]
            try:
                found = await in_thread(partial(self._look, volume, places))
            except MillError as error:
                log.warning("measuring failed: volume=%s %s", volume_id, error.message)
                failed.add(key)
                continue
            finally:
                ended = self._clock()
                self._rested[volume_id, project_id] = ended + _RESTS * (ended - began)
            self._found[key] = _seen(project_id, commits, found)
            self._changed()

    def _next(self, failed: Collection[_Key] = ()) -> _Key | None:
        """The tree to measure that has waited longest."""
        left = (key for key in self._wanted if key not in self._found and key not in failed)
        return min(left, key=self._rested_at, default=None)

    def _rested_at(self, key: _Key) -> float:
        return self._rested.get(key[:2], 0.0)


def _key(volume_id: str, wanted: DesiredMeasure) -> _Key:
    return volume_id, wanted.project_id, tuple(wanted.commits)


def _seen(project_id: str, commits: Sequence[tuple[str, str]], found: Sequence[Share]) -> ProjectShares:
    shares = [ShareSeen(commits=sorted(one.commits), bytes=one.bytes, inodes=one.inodes) for one in found]
    return ProjectShares(project_id=project_id, commits=[commit for _, commit in commits], shares=shares)
