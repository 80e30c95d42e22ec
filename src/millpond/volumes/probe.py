"""What the file system of a volume can do, tried out in a directory of its own: mounts promise much."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from millpond.errors import VolumeProblem
from millpond.volumes.measure import BLOCK
from millpond.volumes.reflink import clone
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import CacheVolume, explained

_TIME_NS = 1_000_000_000 * 10**9
# What a missing ability answers with; anything else is a problem of the volume and not of its kind.
_CANNOT = frozenset(
    {
        errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.ENOTTY, errno.EINVAL,
        errno.EXDEV, errno.EMLINK, errno.ENAMETOOLONG, errno.EBADF,
    }
)  # fmt: skip
_NAME_LENGTHS = (255, 143, 63)
# Trying out takes milliseconds. What is older, clocks of others included, belongs to nobody any more.
_OVER_SECONDS = 24 * 3600
# What an inode takes where there is no table of them: XFS makes them of free space as they are needed.
_INODE_BYTES = {0x58465342: 512}


@dataclass(frozen=True, slots=True)
class Features:
    """See `VolumeFeatures` of the agent protocol."""

    link: bool
    reflink: bool
    symlink: bool
    chmod: bool
    times: bool
    case_sensitive: bool
    name_bytes: int
    squashed: bool
    groups: bool
    block_bytes: int
    inode_bytes: int


def probe(volume: CacheVolume, *, group: int | None = None) -> Features:
    """Try everything out. VolumeProblem where directories cannot be renamed: nothing could be published there.

    `group` is one that something is given to, to see whether that can be done; None: nothing is to be given.
    """
    with explained(volume):
        directory = volume.probing / secrets.token_hex(8)
        volume.probing.mkdir(exist_ok=True)
        directory.mkdir()
        try:
            return _probe(volume, directory, group)
        finally:
            remove_tree(directory)
            _remove_older(volume.probing)


def _probe(volume: CacheVolume, directory: Path, group: int | None) -> Features:
    file = directory / "file"
    file.write_bytes(b"probe")
    block_bytes = _allocated(file)
    if not _can(lambda: _renames(directory)):
        raise VolumeProblem(
            f"Directories cannot be renamed on {volume.root}.", hint="Give the volume another kind of file system."
        )
    return Features(
        link=_can(lambda: _links(file, directory / "link")),
        reflink=_can(lambda: _clones(file, directory / "clone")),
        symlink=_can(lambda: _makes_symlinks(directory / "symlink")),
        chmod=_can(lambda: _changes_mode(file)),
        times=_can(lambda: _sets_time(file)),
        case_sensitive=not (directory / "FILE").exists(),
        name_bytes=_longest_name(directory),
        squashed=file.stat().st_uid != os.geteuid(),
        groups=group is not None and _can(lambda: _gives(directory / "given", group)),
        block_bytes=block_bytes,
        inode_bytes=_INODE_BYTES.get(file_system_of(directory), 0),
    )


def _remove_older(probing: Path) -> None:
    """What was being tried out when an agent was killed, or its disk turned read-only."""
    for path in probing.iterdir():
        with suppress(OSError):  # it is in nobody's way
            if path.lstat().st_mtime < time.time() - _OVER_SECONDS:
                remove_tree(path)


def file_system_of(path: Path) -> int:
    """The number that its kind of file system has in statfs(2)."""
    found = (ctypes.c_long * 64)()  # more than `struct statfs` has anywhere
    if _libc.statfs(os.fsencode(path), found) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
    return found[0]


def _allocated(file: Path) -> int:
    """What it takes on the disk, once it is there; 0 where so little lies beside its inode, or nobody tells."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        return os.fstat(opened.fileno()).st_blocks * BLOCK


def _can(tried: Callable[[], bool]) -> bool:
    try:
        return tried()
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return False


def _renames(directory: Path) -> bool:
    before, after = directory / "before", directory / "after"
    (before / "below").mkdir(parents=True)
    with suppress(FileNotFoundError, FileExistsError):  # on NFS, the answer to a repetition
        before.rename(after)
    return (after / "below").is_dir()


def _links(file: Path, link: Path) -> bool:
    link.hardlink_to(file)
    return link.samefile(file)


def _makes_symlinks(link: Path) -> bool:
    link.symlink_to("nowhere")
    return link.is_symlink()


def _clones(file: Path, copy: Path) -> bool:
    with file.open("rb") as source, copy.open("wb") as target:
        is_cloned = clone(source.fileno(), target.fileno())
    return is_cloned and copy.read_bytes() == b"probe"


def _changes_mode(file: Path) -> bool:
    seen = []
    for mode in (0o444, 0o555, 0o644):
        file.chmod(mode)
        seen.append(file.stat().st_mode & 0o7777 == mode)
    return all(seen)


def _gives(directory: Path, group: int) -> bool:
    directory.mkdir()
    os.chown(directory, -1, group)
    directory.chmod(0o750)
    found = directory.stat()
    return (found.st_gid, found.st_mode & 0o7777) == (group, 0o750)


def _sets_time(file: Path) -> bool:
    os.utime(file, ns=(_TIME_NS, _TIME_NS))
    return file.stat().st_mtime_ns == _TIME_NS


def _longest_name(directory: Path) -> int:
    def makes(length: int) -> bool:
        (directory / ("n" * length)).touch(exist_ok=False)
        return True

    return next((length for length in _NAME_LENGTHS if _can(partial(makes, length))), 0)


_libc = ctypes.CDLL(None, use_errno=True)
