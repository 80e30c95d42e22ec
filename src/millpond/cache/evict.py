"""Taking cached commits off a volume: renamed aside first, so no reader ever opens a half-removed tree."""

from __future__ import annotations

import errno
import itertools
import os
import stat
from collections.abc import Collection
from pathlib import Path

from millpond.cache.volume import CacheVolume, CommitPlace, explained, sync_directory


def evict(volume: CacheVolume, place: CommitPlace, *, attempt: int) -> None:
    """Unpublish the commit and free its bytes. Evicting what is not there is success; so is doing it twice.

    When it returns the commit is no longer published, even after a power cut. Bytes that cannot be removed yet (a
    file somebody has open on NFS) stay in the trash, and `sweep` tries again. VolumeProblem when the volume refuses.
    """
    with explained(volume):
        published = volume.commit(place)
        aside = volume.trash / f"{attempt}-{place.commit_id}"
        volume.trash.mkdir(parents=True, exist_ok=True)
        if aside.exists():
            remove_tree(aside)
        try:
            published.rename(aside)
            sync_directory(published.parent)
        except FileNotFoundError:
            pass  # gone already, or a rename that succeeded and was answered twice
        remove_tree(aside)


def sweep(volume: CacheVolume, *, wanted: Collection[int]) -> bool:
    """Remove the trash and every attempt whose number is not `wanted`; True when nothing is left of them.

    Only for whoever fills this volume: a number that is neither wanted nor at work will never be used again.
    """
    with explained(volume):
        names = [entry for entry in _entries(volume.attempts) if entry.name not in {str(n) for n in wanted}]
        gone = [remove_tree(path) for path in names + _entries(volume.trash)]
        return all(gone)


def remove_tree(top: Path) -> bool:
    """Remove `top` with all that is in it; True when it is gone, False when something has to be tried again.

    Directories are moved up beside `top` one by one, so depth and length of paths do not matter. Links are removed,
    never followed. Permissions that stand in the way are taken down: what is here belongs to this volume.
    """
    numbers = itertools.count()
    waiting = [top]
    gone = True
    while waiting:
        path = waiting.pop()
        try:
            if stat.S_ISDIR(path.lstat().st_mode):
                waiting.extend(_empty(path, top, numbers))
                path.rmdir()
            else:
                path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            # .nfs files of open files, an entry that appeared meanwhile
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                raise
            gone = False
    return gone


def _empty(directory: Path, top: Path, numbers: itertools.count[int]) -> list[Path]:
    """Remove the files of `directory` and move its directories beside `top`; where those are now."""
    _open_up(directory)
    moved: list[Path] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                moved.append(_move_beside(Path(entry.path), top, numbers))
            else:
                Path(entry.path).unlink(missing_ok=True)
    return moved


def _move_beside(directory: Path, top: Path, numbers: itertools.count[int]) -> Path:
    """A name that is free: an earlier removal that was interrupted may have left some."""
    _open_up(directory)
    while True:
        target = top.with_name(f"{top.name}.{next(numbers)}")
        try:
            directory.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            continue
        return target


def _open_up(directory: Path) -> None:
    if directory.lstat().st_mode & 0o700 != 0o700:
        directory.chmod(0o700)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []
