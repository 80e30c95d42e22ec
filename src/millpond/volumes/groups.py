"""Whose group may enter what a volume holds: the directory of a project is closed to everybody else.

That one directory is the door. What lies behind it keeps the permissions of a cache, so two caches of one commit look
the same, and files are linked between commits whatever group they were made for.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from millpond.volumes.volume import CacheVolume, explained

# For the owner, who fills the volume, and for the group of the project, to read.
_DOOR = 0o750
# To be passed through by those who know where they are going; what there is, is not for everybody.
_PASSAGE = 0o711
_PRIVATE = 0o700


def set_apart(volume: CacheVolume, project_id: str, gid: int, names: tuple[str, ...] = ()) -> None:
    """Let only `gid` enter what is cached of the project, now and from now on; the door is made if there is none.

    `names` are the project's directories among the links for people. May be called again; VolumeProblem where the
    file system refuses.
    """
    with explained(volume):
        for directory, mode in ((volume.identity.parent, _PRIVATE), (volume.branches, _PASSAGE)):
            if directory.is_dir():
                _set_mode(directory, mode)
        volume.commits.mkdir(exist_ok=True)
        _set_mode(volume.commits, _PASSAGE)
        door = volume.commits / project_id
        door.mkdir(mode=_PRIVATE, exist_ok=True)
        _close(door, gid)
        for name in names:
            if (volume.branches / name).is_dir():
                _close(volume.branches / name, gid)


def is_set_apart(volume: CacheVolume) -> bool:
    """True if projects have doors of their own there."""
    return volume.commits.is_dir() and stat.S_IMODE(volume.commits.stat().st_mode) == _PASSAGE


def _close(door: Path, gid: int) -> None:
    """The group comes first: for a moment fewer may enter, and never others."""
    if door.stat().st_gid != gid:
        _set_mode(door, _PRIVATE)
        os.chown(door, -1, gid)
    _set_mode(door, _DOOR)


def _set_mode(directory: Path, mode: int) -> None:
    if stat.S_IMODE(directory.stat().st_mode) != mode:
        directory.chmod(mode)
