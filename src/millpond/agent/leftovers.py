"""Removes what earlier attempts left on the volumes that this agent serves."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection
from functools import partial

from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes
from millpond.errors import MillError
from millpond.volumes.attempt import empty_trash, set_aside_attempts
from millpond.volumes.disk_space import leftover_bytes
from millpond.volumes.volume import CacheVolume

log = logging.getLogger(__name__)

# What cannot be removed yet is tried again after so long.
TRASH_SECONDS = 30.0


class Tidying:
    """One tidier per volume. `wanted` says which attempts are not over yet.

    `changed` is called when there is more or less that cannot be removed.
    """

    def __init__(self, volumes: Volumes, wanted: Callable[[], Collection[int]], changed: Callable[[], None]) -> None:
        # Attempts of one volume are begun and set aside in turns; evictions and the trash likewise.
        self.beginning: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.removing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._volumes = volumes
        self._wanted = wanted
        self._changed = changed
        self._leftovers: dict[str, int] = {}
        self._tidiers: dict[str, asyncio.Task[None]] = {}

    def tend(self, tended: Collection[str]) -> None:
        """Clean up exactly these volumes; call whenever the desired state has changed."""
        for gone in self._tidiers.keys() - set(tended):
            self._tidiers.pop(gone).cancel()
        for volume_id in tended:
            task = self._tidiers.get(volume_id)
            if task is None or task.done():
                self._tidiers[volume_id] = asyncio.create_task(self._tidy(volume_id), name=f"tidy {volume_id}")

    def leftover_bytes(self, volume_id: str) -> int:
        """Bytes that the last attempt could not remove."""
        return self._leftovers.get(volume_id, 0)

    async def count_leftovers(self, volume: CacheVolume) -> None:
        """After something was removed, by whoever has it in `removing`."""
        found = await in_thread(partial(leftover_bytes, volume))
        if found != self.leftover_bytes(volume.id):
            self._leftovers[volume.id] = found
            self._changed()

    def end(self) -> None:
        for task in self._tidiers.values():
            task.cancel()

    async def _tidy(self, volume_id: str) -> None:
        """Remove unwanted attempts until none is left; restarted on changes."""
        while True:
            volume = self._volumes.healthy(volume_id)
            try:
                if volume is not None and await self._tidy_once(volume):
                    return
            except MillError as error:
                log.warning("cleanup failed: volume=%s %s", volume_id, error.message)
            await asyncio.sleep(TRASH_SECONDS if volume else 0.1)

    async def _tidy_once(self, volume: CacheVolume) -> bool:
        async with self.beginning[volume.id]:
            await in_thread(partial(set_aside_attempts, volume, wanted=self._wanted()))
        async with self.removing[volume.id]:
            is_empty = await in_thread(partial(empty_trash, volume))
            await self.count_leftovers(volume)
            return is_empty
