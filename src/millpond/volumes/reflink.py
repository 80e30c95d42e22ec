"""Copies that share their blocks with the original until one of them is written to, where the file system has them."""

from __future__ import annotations

import errno
import fcntl

_FICLONE = 0x40049409
_CANNOT = {
    errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM, errno.EBADF, errno.EISDIR,
}  # fmt: skip


def clone(source: int, target: int) -> bool:
    """Make the open file `target` a copy of `source`; False where that is not possible between these two."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return False
    return True
