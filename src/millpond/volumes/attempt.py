"""Attempts: each works in a directory of its own, and whoever comes next moves that away before doing anything.

So a process that was stopped and wakes up late can neither publish nor evict: the directory that its rename starts
from, or leads to, has another name by then.
"""

from __future__ import annotations

import errno
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from millpond.volumes.remove import move_into, remove_tree, rename_directory
from millpond.volumes.volume import CacheVolume, CommitPlace, explained

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NAME = re.compile(r"(\d+)-([^-]+)-[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class FillAttempt:
    """One try at filling or evicting one commit, under a number that the server gave."""

    volume: CacheVolume
    number: int
    place: CommitPlace
    path: Path

    @property
    def tree(self) -> Path:
        """What is being made, to be published; or what was published, to be removed."""
        return self.path / "tree"

    @property
    def older(self) -> list[Path]:
        """Trees that earlier attempts at this commit have left. Whoever made them may still write there."""
        return sorted(_directories(self.path / "older"))

    def remove(self) -> bool:
        """Remove all of it; False when something has to be tried again: it lies in the trash then."""
        with explained(self.volume):
            aside = _set_aside(self.volume, self.path)
            return aside is None or remove_tree(aside)


def begin_attempt(volume: CacheVolume, place: CommitPlace, number: int) -> FillAttempt:
    """A new directory for this attempt, which has taken over whatever earlier ones at this commit have left.

    After this no earlier attempt can publish or evict the commit any more. DiskFull only when nothing is left that was
    kept for this: evictions begin on a full disk, too.
    """
    return _begin(volume, place, number, volume.attempts)


def begin_import(volume: CacheVolume, place: CommitPlace) -> FillAttempt:
    """The same for an import, which no server has given a number: apart from attempts, which agents tidy up."""
    with explained(volume):
        volume.imports.mkdir(exist_ok=True)
    return _begin(volume, place, 0, volume.imports)


def _begin(volume: CacheVolume, place: CommitPlace, number: int, among: Path) -> FillAttempt:
    with explained(volume):
        # Made before others are looked for: on NFS a list of names may be old until something is changed there.
        path = among / f"{number}-{place.commit_id}-{secrets.token_hex(4)}"
        _make(volume, path)
        for other in _of_commit(among, place.commit_id):
            if other != path:
                _take_over(other, path, path / "older")
        return FillAttempt(volume, number, place, path)


def set_aside_attempts(volume: CacheVolume, *, wanted: Collection[int]) -> None:
    """Move every attempt whose number is not `wanted` into the trash: quick, and none of them can go on.

    Only for whoever fills this volume, and while it begins no attempt: what is moved will never be published.
    """
    with explained(volume):
        for path in _directories(volume.attempts):
            found = _NAME.fullmatch(path.name)
            if found is None or int(found[1]) not in wanted:
                _set_aside(volume, path)


def empty_trash(volume: CacheVolume) -> bool:
    """True when nothing is left in the trash; False when something has to be tried again."""
    with explained(volume):
        left = [path for path in _directories(volume.trash) if not remove_tree(path)]
        return not left


def _make(volume: CacheVolume, path: Path) -> None:
    """Make an attempt's directory, or take the spare one of a full disk. What is above is there, or a mount is not."""
    try:
        for directory in (volume.attempts, volume.trash, volume.spare):
            directory.mkdir(exist_ok=True)
        path.mkdir()
        (path / "older").mkdir()
    except OSError as error:
        spare = next(_directories(volume.spare), None)
        if error.errno not in _FULL or spare is None:
            raise
        if path.is_dir():
            path.rmdir()
        rename_directory(spare, path)
        return
    _keep_spare(volume)


def _keep_spare(volume: CacheVolume) -> None:
    spare = next(_directories(volume.spare), volume.spare / "1")
    try:
        for directory in (spare, spare / "older"):
            directory.mkdir(exist_ok=True)
    except OSError as error:
        if error.errno not in _FULL:
            raise  # a full disk is met by whoever writes


def _take_over(other: Path, path: Path, older: Path) -> None:
    """Move `other` below `path`, then its trees to `older`: few levels, however often an attempt is interrupted."""
    try:
        taken = move_into(path, other)
    except FileNotFoundError:
        return  # somebody else was faster
    for tree in (taken / "tree", *_directories(taken / "older")):
        if tree.is_dir():
            move_into(older, tree)


def _of_commit(among: Path, commit_id: str) -> list[Path]:
    found = ((path, _NAME.fullmatch(path.name)) for path in _directories(among))
    return [path for path, name in found if name is not None and name[2] == commit_id]


def _set_aside(volume: CacheVolume, path: Path) -> Path | None:
    """Where it is in the trash; None when somebody else was faster."""
    try:
        return move_into(volume.trash, path)
    except FileNotFoundError:
        return None


def _directories(directory: Path) -> Iterator[Path]:
    try:
        yield from sorted(directory.iterdir())
    except FileNotFoundError:
        return
