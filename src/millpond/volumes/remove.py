"""Removing trees from a volume, however deep, while somebody may still have their files open."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

# A file that somebody has open on NFS (`.nfs…`), or an entry that appeared meanwhile.
_LATER = (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY)
_ANSWERED_TWICE = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY)


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
                below, is_empty = _empty(path, top.parent)
                waiting.extend(below)
                gone = gone and is_empty
                path.rmdir()
            else:
                path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in _LATER:
                raise
            gone = False
    return gone


def move_into(directory: Path, path: Path) -> Path:
    """Move the directory `path` into `directory` under a name nobody has used; where it is now.

    FileNotFoundError when it is not there (any more).
    """
    _open_up(path)
    target = directory / f"{path.name[:32]}-{secrets.token_hex(8)}"
    rename_directory(path, target)
    return target


def rename_directory(path: Path, target: Path) -> None:
    """Rename to a name that nobody else uses."""
    try:
        path.rename(target)
    except OSError as error:
        # On NFS a rename that succeeded may be answered by what its repetition met.
        if error.errno not in _ANSWERED_TWICE or not target.exists():
            raise


def _empty(directory: Path, above: Path) -> tuple[list[Path], bool]:
    """Remove the files of `directory` and move its directories up into `above`; where those are, whether all went."""
    _open_up(directory)
    moved: list[Path] = []
    is_empty = True
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    moved.append(move_into(above, Path(entry.path)))
                else:
                    os.unlink(entry.path)  # noqa: PTH108 - tens of thousands of them
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in _LATER:
                    raise
                is_empty = False
    return moved, is_empty


def _open_up(directory: Path) -> None:
    if directory.lstat().st_mode & 0o700 != 0o700:
        directory.chmod(0o700)
