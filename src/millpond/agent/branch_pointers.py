"""Keeps branch names up to date on the volumes that this agent serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes
from millpond.errors import MillError
from millpond.volumes.pointers import Pointer, point
from millpond.volumes.volume import CommitPlace
from millpond.wire.desired import DesiredPointer, DesiredVolume

log = logging.getLogger(__name__)

# Where names shall lead, and the commits that are there: with one that goes, the names that lead to it go.
_State = tuple[tuple[Pointer, ...], frozenset[str]]


class Pointing:
    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes
        self._wanted: dict[str, _State] = {}
        self._done: dict[str, _State] = {}
        self._task: asyncio.Task[None] | None = None

    def reconcile(self, desired: Sequence[DesiredVolume]) -> None:
        """Update branch names. Volumes served by another agent now are forgotten."""
        self._wanted = {one.id: self._state(one) for one in desired if one.tended}
        self._done = {key: state for key, state in self._done.items() if key in self._wanted}
        if (self._task is None or self._task.done()) and self._next() is not None:
            self._task = asyncio.create_task(self._point(), name="branches")

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _point(self) -> None:
        while (volume_id := self._next()) is not None:
            volume, wanted = self._volumes.healthy(volume_id), self._wanted[volume_id]
            if volume is None:
                return  # asked again when it is well
            try:
                await in_thread(partial(point, volume, wanted[0]))
            except MillError as error:
                # Names for people: nothing else depends on them. Tried again when they change.
                log.warning("cannot update branch names: volume=%s %s", volume_id, error.message)
            self._done[volume_id] = wanted

    def _next(self) -> str | None:
        return next((key for key, state in self._wanted.items() if self._done.get(key) != state), None)

    def _state(self, desired: DesiredVolume) -> _State:
        there = frozenset(seen.commit_id for seen in self._volumes.published(desired.id))
        return tuple(map(_pointer, desired.pointers)), there


def _pointer(desired: DesiredPointer) -> Pointer:
    place = CommitPlace(desired.project_id, desired.dataset_id, desired.commit_id)
    return Pointer(desired.project, desired.dataset, desired.branch, place)
