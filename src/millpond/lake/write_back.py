"""Bytes on their way to the disk while more of them come: whoever waits for the disk in the end finds little left."""

from __future__ import annotations

import ctypes
import errno
import os

_WRITE = 2  # SYNC_FILE_RANGE_WRITE: begin, and do not wait
_PAGE = 4096
# File systems and sandboxes that do not know the call.
_NOT_HERE = (errno.ENOSYS, errno.EINVAL, errno.ESPIPE, errno.EPERM, errno.EOPNOTSUPP)


def begin_write_back(descriptor: int, start: int, end: int) -> None:
    """Begin to write what was written to the file, where the system can; it is not durable before a sync.

    Without the pages at its ends: they may get more, and would be written twice.
    """
    start, end = -(-start // _PAGE) * _PAGE, end // _PAGE * _PAGE
    if _sync_file_range is None or end <= start:
        return
    if _sync_file_range(descriptor, start, end - start, _WRITE) != 0:
        number = ctypes.get_errno()
        if number not in _NOT_HERE:
            raise OSError(number, os.strerror(number))


_sync_file_range = getattr(ctypes.CDLL(None, use_errno=True), "sync_file_range", None)
if _sync_file_range is not None:
    _sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
