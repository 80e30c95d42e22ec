"""A file system that lies as file servers do: `lying_disk.py BELOW MOUNTPOINT CONTROL` shows the files of BELOW.

Each lie is told while a file of its name is in CONTROL:

    rename        it is done, and the answer is this error (ENOENT, EEXIST …): a repetition was answered
    close         what was written is there, and closing it gives this error (ENOSPC, EIO): it was written late
    link          links are refused with this error (EMLINK, EXDEV, EPERM)
    chmod         permissions cannot be changed
    squash        whatever is made belongs to nobody
    late          a directory that was renamed is seen after so many seconds
    case          upper and lower case are the same

Always: a file that is removed while somebody has it open stays as `.nfs…` until it is closed.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections import Counter
from ctypes.util import find_library
from pathlib import Path
from typing import Any

# Where libfuse 2 is installed as well, it would be taken, and it hides removed files in another way.
os.environ.setdefault("FUSE_LIBRARY_PATH", find_library("fuse3") or "")

from mfusepy import FUSE, FuseOSError, Operations

NOBODY = 65534
_STAT = (
    "st_atime",
    "st_ctime",
    "st_gid",
    "st_mode",
    "st_mtime",
    "st_nlink",
    "st_size",
    "st_uid",
    "st_blocks",
    "st_ino",
)


class LyingDisk(Operations):  # type: ignore[misc]
    use_ns = True

    def __init__(self, below: str, control: str) -> None:
        self._below, self._control = below, Path(control)
        # By inode, which stays the same when directories are renamed.
        self._open: Counter[int] = Counter()
        self._inodes: dict[int, int] = {}
        self._written: set[int] = set()
        self._late: dict[str, float] = {}

    # What is told

    def rename(self, old: str, new: str) -> None:
        before, after = self._place(old), self._place(new)
        is_directory = os.path.isdir(before)
        os.rename(before, after)
        if is_directory and (seconds := self._lie("late")):
            self._late[after] = time.monotonic() + float(seconds)
        if is_directory and (name := self._lie("rename")):
            raise FuseOSError(getattr(errno, name))

    def flush(self, path: str, handle: int) -> int:
        """At every close. Releasing comes later, when nobody waits for it any more."""
        self._close(handle)
        name = self._lie("close")
        if handle in self._written and name:
            self._written.discard(handle)
            raise FuseOSError(getattr(errno, name))
        return 0

    def link(self, target: str, source: str) -> None:
        if name := self._lie("link"):
            raise FuseOSError(getattr(errno, name))
        os.link(self._place(source), self._place(target))

    def chmod(self, path: str, mode: int) -> None:
        if self._lie("chmod"):
            raise FuseOSError(errno.EPERM)
        os.chmod(self._place(path), mode)

    def chown(self, path: str, uid: int, gid: int) -> None:
        raise FuseOSError(errno.EPERM)

    def unlink(self, path: str) -> None:
        place = self._place(path)
        if not self._open[os.lstat(place).st_ino]:
            os.unlink(place)
        elif os.path.basename(place).startswith(".nfs"):
            raise FuseOSError(errno.EBUSY)
        else:
            os.rename(place, os.path.join(os.path.dirname(place), f".nfs{time.monotonic_ns():x}"))

    def release(self, path: str, handle: int) -> int:
        self._close(handle)
        os.close(handle)
        return 0

    def _close(self, handle: int) -> None:
        inode = self._inodes.pop(handle, None)
        if inode is None:
            return
        self._open[inode] -= 1
        if not self._open[inode]:
            for path in Path(self._below).rglob(".nfs*"):
                if path.lstat().st_ino == inode:
                    path.unlink()

    def getattr(self, path: str | None, handle: int | None = None) -> dict[str, Any]:
        """An open file that was removed has a handle, and no path any more."""
        if path is None:
            return self._attributes(os.fstat(handle or -1))
        place = self._place(path)
        if self._late.get(place, 0.0) > time.monotonic():
            raise FuseOSError(errno.ENOENT)
        return self._attributes(os.lstat(place))

    def _attributes(self, found: os.stat_result) -> dict[str, Any]:
        answer = {name: getattr(found, name) for name in _STAT}
        for name in ("st_atime", "st_ctime", "st_mtime"):
            answer[name] = getattr(found, f"{name}_ns")
        if self._lie("squash"):
            answer["st_uid"] = answer["st_gid"] = NOBODY
        return answer

    # What is done

    def create(self, path: str, mode: int, info: Any = None) -> int:
        return self._opened(os.open(self._place(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))

    def open(self, path: str, flags: int) -> int:
        return self._opened(os.open(self._place(path), flags & ~os.O_EXCL))

    def read(self, path: str, size: int, offset: int, handle: int) -> bytes:
        return os.pread(handle, size, offset)

    def write(self, path: str, data: bytes, offset: int, handle: int) -> int:
        self._written.add(handle)
        return os.pwrite(handle, data, offset)

    def truncate(self, path: str, length: int, handle: int | None = None) -> None:
        os.truncate(self._place(path) if handle is None else handle, length)

    def readdir(self, path: str, handle: int) -> list[tuple[str, dict[str, Any], int]]:
        with os.scandir(self._place(path)) as found:
            return [(one.name, self._attributes(one.stat(follow_symlinks=False)), 0) for one in found]

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(self._place(path), mode)

    def rmdir(self, path: str) -> None:
        os.rmdir(self._place(path))

    def symlink(self, target: str, source: str) -> None:
        os.symlink(source, self._place(target))

    def readlink(self, path: str) -> str:
        return os.readlink(self._place(path))

    def utimens(self, path: str, times: Any = None) -> None:
        os.utime(self._place(path), ns=times, follow_symlinks=False)

    def statfs(self, path: str) -> dict[str, int]:
        found = os.statvfs(self._below)
        return {name: getattr(found, name) for name in dir(found) if name.startswith("f_")}

    def fsync(self, path: str, datasync: int, handle: int) -> int:
        os.fsync(handle)
        return 0

    def fsyncdir(self, path: str, datasync: int, handle: int) -> int:
        return 0

    def _opened(self, handle: int) -> int:
        self._inodes[handle] = os.fstat(handle).st_ino
        self._open[self._inodes[handle]] += 1
        return handle

    def _lie(self, name: str) -> str:
        try:
            return (self._control / name).read_text().strip()
        except FileNotFoundError:
            return ""

    def _place(self, path: str) -> str:
        return self._below + (path.lower() if self._lie("case") else path)


if __name__ == "__main__":
    FUSE(
        LyingDisk(sys.argv[1], sys.argv[3]), sys.argv[2], foreground=True, nothreads=True, allow_other=False,
        use_ino=True, hard_remove=True, attr_timeout=0, entry_timeout=0, negative_timeout=0, default_permissions=False,
    )  # fmt: skip
