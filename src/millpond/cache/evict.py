"""Taking cached commits off a volume: renamed aside first, so no reader ever opens a half-removed tree."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection
from pathlib import Path

from millpond.cache.volume import CacheVolume, CommitPlace, explained, sync_directory


def evict(volume: CacheVolume, place: CommitPlace, *, attempt: int) -> bool:
    """Unpublish the commit and free its bytes. Evicting what is not there is success; so is doing it twice.

    When it returns the commit is no longer published, even after a power cut. False: some bytes cannot be removed yet
    (a file somebody has open on NFS); they lie in the trash, to be tried again. VolumeProblem when the volume refuses.
    """
    with explained(volume):
        published = volume.commit(place)
        aside = volume.trash / f"{attempt}-{place.commit_id}"
        volume.trash.mkdir(parents=True, exist_ok=True)
        remove_tree(aside)  # of an earlier try
        try:
            published.rename(aside)
            sync_directory(published.parent)
        except FileNotFoundError:
            pass  # gone already, or a rename that succeeded and was answered twice
        return remove_tree(aside)


def set_aside_attempts(volume: CacheVolume, *, wanted: Collection[int]) -> None:
    """Move every attempt whose number is not `wanted` into the trash: quick, and their numbers are free of them.

    Only for whoever fills this volume, and while it begins no attempt: what is moved will never be published.
    """
    with explained(volume):
        kept = {str(number) for number in wanted}
        for path in _entries(volume.attempts):
            if path.name not in kept:
                volume.trash.mkdir(parents=True, exist_ok=True)
                move_into(volume.trash, path)


def empty_trash(volume: CacheVolume) -> bool:
    """True when nothing is left in the trash; False when something has to be tried again."""
    with explained(volume):
        left = [path for path in _entries(volume.trash) if not remove_tree(path)]
        return not left


def remove_tree(top: Path) -> bool:
    """Remove `top` with all that is in it; True when it is gone, False when something has to be tried again.

    Directories are moved up beside `top` one by one, so depth and length of paths do not matter. Links are removed,
    never followed. Permissions that stand in the way are taken down: what is here belongs to this volume.
    """
    waiting = [top]
    gone = True
    while waiting:
        path = waiting.pop()
        try:
            if stat.S_ISDIR(path.lstat().st_mode):
                waiting.extend(_empty(path, top.parent))
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


def _empty(directory: Path, above: Path) -> list[Path]:
    """Remove the files of `directory` and move its directories up into `above`; where those are now."""
    _open_up(directory)
    moved: list[Path] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                moved.append(move_into(above, Path(entry.path)))
            else:
                Path(entry.path).unlink(missing_ok=True)
    return moved


def move_into(directory: Path, path: Path) -> Path:
    """Move the directory `path` into `directory` under a name nobody has used; where it is now."""
    _open_up(path)
    target = directory / f"{path.name[:32]}-{secrets.token_hex(8)}"
    path.rename(target)
    return target


def _open_up(directory: Path) -> None:
    if directory.lstat().st_mode & 0o700 != 0o700:
        directory.chmod(0o700)


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []
