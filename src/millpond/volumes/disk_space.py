"""Whether there is room for a fill on the disk as it is now: others write there too, after the room was promised.

Looked at before the first byte, and while it goes on.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.errors import DiskFull
from millpond.lake.transfer import Moved, Progress
from millpond.model.quantity import format_bytes
from millpond.volumes.attempt import FillAttempt
from millpond.volumes.measure import BLOCK, everything
from millpond.volumes.volume import CacheVolume, Space, explained

# So often a fill looks at the disk. Counting what it has written itself takes longer, and is done less often.
LOOK_SECONDS = 1.0
COUNT_SECONDS = 10.0


class NoRoomYet(DiskFull):
    """There is no room for the fill: nothing is fetched, or what was is given back."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What a fill will allocate, and what shall be free beside it."""

    bytes: int = 0
    inodes: int = 0
    reserve_bytes: int = 0
    reserve_inodes: int = 0


def check_room(attempt: FillAttempt, needed: Needed) -> None:
    """NoRoomYet unless it fits. What this attempt and earlier ones at the commit have made counts as free."""
    volume = attempt.volume
    with explained(volume):
        space = volume.space()
        if _shortage(volume, space, needed) is None:
            return
        # Looked at only now: there may be many files.
        left_bytes, left_inodes = left_by([*attempt.older, attempt.tree])
    inodes = None if space.free_inodes is None else space.free_inodes + left_inodes
    space = replace(space, free_bytes=space.free_bytes + left_bytes, free_inodes=inodes)
    shortage = _shortage(volume, space, needed)
    if shortage is not None:
        raise NoRoomYet(shortage, hint="Free space there, or clear cached commits. The fill then continues by itself.")


class RoomWatch:
    """The progress of a fill, told on to `progress`, that ends it with NoRoomYet when others take its room meanwhile.

    Up to the reserve it may go on: what is kept free is for everything else on that disk.
    """

    def __init__(
        self, attempt: FillAttempt, needed: Needed, progress: Progress, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._attempt, self._needed, self._progress, self._clock = attempt, needed, progress, clock
        self._next = clock() + LOOK_SECONDS

    def __call__(self, moved: Moved, /) -> None:
        self._progress(moved)
        now = self._clock()
        if now < self._next:
            return
        self._next = now + LOOK_SECONDS
        reserve = replace(self._needed, bytes=0, inodes=0)
        if _shortage(self._attempt.volume, self._attempt.volume.space(), reserve) is not None:
            self._next = now + COUNT_SECONDS
            check_room(self._attempt, self._needed)


def left_by(trees: Iterable[Path]) -> tuple[int, int]:
    """Bytes and inodes that are allocated for these trees alone: not for files that have names elsewhere."""
    names: dict[int, int] = {}
    size = count = 0
    for tree in trees:
        for found in everything(tree):
            if _is_last_name(found, names):
                size += found.st_blocks * BLOCK
                count += 1
    return size, count


def leftover_bytes(volume: CacheVolume) -> int:
    """What lies in the trash. To be asked while nothing is being removed: then it is what could not be."""
    with explained(volume):
        return left_by(volume.trash.iterdir())[0] if volume.trash.is_dir() else 0


def _shortage(volume: CacheVolume, space: Space, needed: Needed) -> str | None:
    """What there is too little of, in words."""
    if needed.bytes + needed.reserve_bytes > space.free_bytes:
        kept = f", of which {format_bytes(needed.reserve_bytes)} are kept free" if needed.reserve_bytes else ""
        return (
            f"The disk of the volume at {volume.root} is too full: {format_bytes(space.free_bytes)} are left{kept}, "
            f"and this fill takes {format_bytes(needed.bytes)}."
        )
    if space.free_inodes is not None and needed.inodes + needed.reserve_inodes > space.free_inodes:
        kept = f", of which {needed.reserve_inodes:,} are kept free" if needed.reserve_inodes else ""
        return (
            f"The volume at {volume.root} is short of inodes: {space.free_inodes:,} are left{kept}, "
            f"and this fill is {needed.inodes:,} files and directories."
        )
    return None


def _is_last_name(found: os.stat_result, names: dict[int, int]) -> bool:
    """Whether all names of a file have been met, this one included."""
    if found.st_nlink == 1 or not stat.S_ISREG(found.st_mode):
        return True
    names[found.st_ino] = names.get(found.st_ino, 0) + 1
    return names[found.st_ino] == found.st_nlink
