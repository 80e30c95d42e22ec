"""How much of a file is its own and how much it shares with clones, as the file system tells (FIEMAP)."""

from __future__ import annotations

import errno
import fcntl
import os
import struct

_FIEMAP = 0xC020660B
# struct fiemap: start, length, flags, mapped, count, reserved; fiemap_extent: logical, physical, length, …, flags, ….
_HEAD = struct.Struct("<QQIIII")
_EXTENT = struct.Struct("<QQQ16xI12x")
_AT_ONCE = 16
_LAST, _SHARED = 0x1, 0x2000
_ELSEWHERE = 0x2 | 0x4 | 0x200  # unknown, delayed allocation, inside an inode
_BLOCK = 512
_CANNOT = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EBADR, errno.EINVAL, errno.ENOSYS)


def allocated(descriptor: int, found: os.stat_result) -> tuple[int, int]:
    """Bytes that only this file has, and bytes that others have as well; all are its own where nobody tells."""
    total = found.st_blocks * _BLOCK
    try:
        shared = _shared(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        shared = 0
    return max(0, total - shared), shared


def _shared(descriptor: int) -> int:
    shared = start = 0
    while True:
        answer = bytearray(_HEAD.size + _AT_ONCE * _EXTENT.size)
        _HEAD.pack_into(answer, 0, start, 2**64 - 1 - start, 0, 0, _AT_ONCE, 0)
        fcntl.ioctl(descriptor, _FIEMAP, answer)
        mapped = _HEAD.unpack_from(answer)[3]
        flags = _LAST
        for number in range(mapped):
            logical, _, length, flags = _EXTENT.unpack_from(answer, _HEAD.size + number * _EXTENT.size)
            start = logical + length
            if flags & _SHARED and not flags & _ELSEWHERE:
                shared += length
        if not mapped or flags & _LAST:
            return shared
