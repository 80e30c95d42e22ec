"""Subvolumes of btrfs: made, frozen, limited and removed through the kernel's own calls; no program is needed."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.volumes.probe import file_system_of

MAGIC = 0x9123683E
# The root of every subvolume has this inode number.
_ROOT_INODE = 256

_SUBVOL_CREATE = 0x5000940E
_SNAP_DESTROY = 0x5000940F
_SNAP_CREATE_V2 = 0x50009417
_INO_LOOKUP = 0xD0009412
_QUOTA_CTL = 0xC0109428
_QGROUP_LIMIT = 0x8030942B
_QUOTA_ENABLE = 1
_READ_ONLY = 1 << 1
_LIMIT_REFERENCED = 1
_NO_LIMIT = 2**64 - 1

# struct btrfs_ioctl_vol_args: fd, name; btrfs_ioctl_vol_args_v2: fd, transid, flags, four unused numbers, name.
_ARGS = struct.Struct("<q4088s")
_ARGS_V2 = struct.Struct("<qQQ32x4040s")
# struct btrfs_ioctl_ino_lookup_args: treeid, objectid, name.
_LOOKUP = struct.Struct("<QQ4080s")
_CONTROL = struct.Struct("<QQ")
# struct btrfs_ioctl_qgroup_limit_args: qgroupid; flags and four limits.
_LIMIT = struct.Struct("<QQQQQQ")


def is_btrfs(path: Path) -> bool:
    return file_system_of(path) == MAGIC


def is_subvolume(path: Path) -> bool:
    found = path.stat()
    return found.st_ino == _ROOT_INODE and stat.S_ISDIR(found.st_mode) and is_btrfs(path)


def create(path: Path) -> None:
    """Make an empty subvolume. OSError where the file system has none, or this account may not."""
    with _opened(path.parent) as parent:
        _ask(parent, _SUBVOL_CREATE, _ARGS.pack(0, _name(path)))


def snapshot(source: Path, path: Path, *, read_only: bool) -> None:
    """Make `path` a subvolume with all that `source`, another one, holds at this moment. Durable when it returns."""
    with _opened(path.parent) as parent, _opened(source) as original:
        flags = _READ_ONLY if read_only else 0
        _ask(parent, _SNAP_CREATE_V2, _ARGS_V2.pack(original, 0, flags, _name(path)))


def destroy(path: Path) -> None:
    """Remove a subvolume with all that is in it, those that a job made inside included."""
    with _opened(path.parent) as parent:
        try:
            _ask(parent, _SNAP_DESTROY, _ARGS.pack(0, _name(path)))
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            # One that is full up to its limit refuses even that something in it is removed.
            with suppress(OSError):
                _set_limit(path, _NO_LIMIT)
            for inner in list(_inside(path)):
                destroy(inner)
            _ask(parent, _SNAP_DESTROY, _ARGS.pack(0, _name(path)))


def subvolume_id(path: Path) -> int:
    """The number of the subvolume that `path` is in."""
    with _opened(path) as descriptor:
        answer = _ask(descriptor, _INO_LOOKUP, _LOOKUP.pack(0, _ROOT_INODE, b""))
    return int(_LOOKUP.unpack(answer)[0])


def limit(path: Path, size_bytes: int) -> None:
    """Let the subvolume refer to so many bytes at most: then writers get EDQUOT. Turns quotas on for all of it."""
    with _opened(path) as descriptor:
        _ask(descriptor, _QUOTA_CTL, _CONTROL.pack(_QUOTA_ENABLE, 0))
    _set_limit(path, size_bytes)


def _set_limit(path: Path, size_bytes: int) -> None:
    with _opened(path) as descriptor:
        # The group of a subvolume has its number, at level 0.
        limits = (_LIMIT_REFERENCED, size_bytes, 0, 0, 0)
        _ask(descriptor, _QGROUP_LIMIT, _LIMIT.pack(subvolume_id(path), *limits))


def _inside(path: Path) -> Iterator[Path]:
    """Subvolumes directly below a directory of one: each is removed with those inside it."""
    with os.scandir(path) as entries:
        directories = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    for directory in directories:
        if directory.stat().st_ino == _ROOT_INODE:
            yield directory
        else:
            yield from _inside(directory)


def _ask(descriptor: int, call: int, arguments: bytes) -> bytes:
    """What the kernel has made of the arguments. Python takes no more than 1,024 bytes that it may not change."""
    answer = bytearray(arguments)
    fcntl.ioctl(descriptor, call, answer)
    return bytes(answer)


def _name(path: Path) -> bytes:
    return os.fsencode(path.name)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
