"""Writing a tree into a new directory, and never anywhere else.

Every directory, file and link is created exclusively, relative to the open target directory and without following
links, so nothing that a tree says, or that lies in the target, can lead a write outside.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.blobs.store import Buffer
from millpond.errors import Conflict, Corrupt, DiskFull, Forbidden, MillError, VolumeProblem
from millpond.model.path import RESERVED_PART, to_text
from millpond.model.tree import Kind

# All cached files and directories have this mtime, so that two caches of one commit look the same.
CACHED_MTIME_NS = 1_000_000_000 * 10**9

_CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_REOPEN = _CREATE & ~(os.O_CREAT | os.O_EXCL)
# Of a file that is written in parts: where permissions cannot be changed it stays so, and must be readable.
_WORK_MODE = 0o644
_DIRECTORY_MODE = 0o755
_HAS_DIR_FD = os.open in os.supports_dir_fd and os.mkdir in os.supports_dir_fd
# A cache is durable before it is used, so parts of this size are sent to the disk while others still come.
_WRITTEN_BACK_FROM = 256 << 10
# Errors of a hard link that mean: copy instead.
_NO_LINK = {
    errno.EMLINK, errno.EXDEV, errno.EPERM, errno.EACCES, errno.ENOENT, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS,
}  # fmt: skip


class Target:
    """A new tree under `root`: read-only files with one fixed mtime (a cache), or ordinary ones (a clone).

    Files may be written from several threads; directories are made by one, in the order of tree paths.
    """

    def __init__(self, root: Path, *, read_only: bool) -> None:
        self.root = os.fsencode(root)
        self.read_only = read_only
        self._above: list[bytes] = []
        self._parent = b""
        self._directories: list[bytes] = []
        self._descriptor: int | None = None
        # Modes that a new file gets exactly as asked, whatever the umask: those need no second call.
        self.exact_modes: set[int] = set()
        self._is_shared = False

    @classmethod
    def shared(cls, root: bytes, *, read_only: bool, exact_modes: set[int]) -> Target:
        """A target that another process has made and also writes to: files only, of directories that are there."""
        target = cls(Path(os.fsdecode(root)), read_only=read_only)
        target.exact_modes, target._is_shared = exact_modes, True
        return target

    def __enter__(self) -> Target:
        with _translated(b""):
            if not self._is_shared:
                self._make()
            if _HAS_DIR_FD:
                self._descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if not self._is_shared:
                self.exact_modes = self._probe_modes()
        return self

    @property
    def descriptor(self) -> int | None:
        """The open directory that all is written below; None where paths are all there is."""
        return self._descriptor

    def _make(self) -> None:
        os.makedirs(self.root, _DIRECTORY_MODE, exist_ok=True)  # noqa: PTH103 - bytes path
        if [name for name in os.listdir(self.root) if name != RESERVED_PART]:
            raise Conflict(f"The directory {os.fsdecode(self.root)!r} is not empty.", hint="Choose a new directory.")
        if self.read_only:  # others read a cache, whatever the umask; some file servers change no permissions
            with suppress(PermissionError):
                os.chmod(self.root, _DIRECTORY_MODE)  # noqa: PTH101 - bytes path

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def make_parents(self, path: bytes) -> None:
        """Make the directories above `path`. Paths come in order, so each directory is made once."""
        parent = path.rpartition(b"/")[0]
        if parent == self._parent:
            return
        self._parent = parent
        while self._above and not (parent + b"/").startswith(self._above[-1] + b"/"):
            self._above.pop()
        at = len(self._above[-1]) if self._above else 0
        while at < len(parent):
            end = parent.find(b"/", at + 1)
            at = len(parent) if end < 0 else end
            self.make_directory(parent[:at])
            self._above.append(parent[:at])

    def make_directory(self, path: bytes) -> None:
        with _translated(path):
            os.mkdir(self._place(path), _DIRECTORY_MODE, dir_fd=self._descriptor)
            if _DIRECTORY_MODE not in self.exact_modes:
                os.chmod(self._place(path), _DIRECTORY_MODE, dir_fd=self._descriptor)
        if self.read_only:
            self._directories.append(path)

    def write_file(self, path: bytes, kind: int, data: Buffer) -> None:
        """Write a whole file at once. Called for every small file, so it does nothing that it need not."""
        mode = self._mode(kind)
        try:
            descriptor = os.open(self._place(path), _CREATE, mode, dir_fd=self._descriptor)
            try:
                written = os.write(descriptor, data)
                if written != len(data):
                    _write_all(descriptor, memoryview(data)[written:])
                if self.read_only or mode not in self.exact_modes:
                    self._finish(descriptor, mode)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _as_mill_error(path, error) from error

    def write_link(self, path: bytes, target: bytes) -> None:
        if b"\0" in target:
            raise Corrupt(f"{to_text(path)!r} is an invalid link: its target contains a zero byte.")
        with _translated(path):
            os.symlink(target, self._place(path), dir_fd=self._descriptor)
            if self.read_only and os.utime in os.supports_follow_symlinks:
                times = (CACHED_MTIME_NS, CACHED_MTIME_NS)
                os.utime(self._place(path), ns=times, dir_fd=self._descriptor, follow_symlinks=False)

    def link_file(self, path: bytes, existing: bytes, directory: int) -> bool:
        """Make `path` another name of `existing`, below the open `directory`; False where that is not possible."""
        try:
            os.link(
                existing, self._place(path), src_dir_fd=directory, dst_dir_fd=self._descriptor, follow_symlinks=False
            )
        except OSError as error:
            if error.errno in _NO_LINK:
                return False
            raise _as_mill_error(path, error) from error
        return True

    def make_file(self, path: bytes, kind: Kind, write: Callable[[int], None]) -> None:
        """Make a file whose content `write` gives it, through its descriptor. If that fails there is no file."""
        mode = self._mode(kind)
        with _translated(path):
            descriptor = os.open(self._place(path), _CREATE, mode, dir_fd=self._descriptor)
            try:
                try:
                    write(descriptor)
                    self._finish(descriptor, mode)
                finally:
                    os.close(descriptor)
            except BaseException:
                # After it is closed: on NFS an open file would stay under another name.
                os.unlink(self._place(path), dir_fd=self._descriptor)
                raise

    def begin_file(self, path: bytes, size: int) -> None:
        """Make a file to be written in parts."""
        with _translated(path):
            descriptor = os.open(self._place(path), _CREATE, _WORK_MODE, dir_fd=self._descriptor)
            try:
                os.ftruncate(descriptor, size)
            finally:
                os.close(descriptor)

    def write_part(self, path: bytes, offset: int, data: Buffer) -> None:
        with _translated(path):
            descriptor = os.open(self._place(path), _REOPEN, dir_fd=self._descriptor)
            try:
                os.lseek(descriptor, offset, os.SEEK_SET)
                _write_all(descriptor, memoryview(data))
                if self.read_only and len(data) >= _WRITTEN_BACK_FROM:
                    _begin_write_back(descriptor, offset, offset + len(data))
            finally:
                os.close(descriptor)

    def end_file(self, path: bytes, kind: Kind) -> None:
        """All parts are written: give the file its mode and time."""
        with _translated(path):
            descriptor = os.open(self._place(path), _REOPEN, dir_fd=self._descriptor)
            try:
                self._finish(descriptor, self._mode(kind), exact=False)
            finally:
                os.close(descriptor)

    def finish(self) -> None:
        """Give directories the time of a cache, deepest first: writing into them has changed it."""
        for path in [*reversed(self._directories), b"."] if self.read_only else []:
            with _translated(path):
                times = (CACHED_MTIME_NS, CACHED_MTIME_NS)
                os.utime(self._place(path), ns=times, dir_fd=self._descriptor)

    def _place(self, path: bytes) -> bytes:
        return path if self._descriptor is not None else self.root + b"/" + path

    def _mode(self, kind: int) -> int:
        mode = 0o755 if kind == Kind.EXECUTABLE else 0o644
        return mode & ~0o222 if self.read_only else mode

    def _finish(self, descriptor: int, mode: int, *, exact: bool = True) -> None:
        if hasattr(os, "fchmod") and not (exact and mode in self.exact_modes):
            _set_mode(descriptor, mode)
        if self.read_only and os.utime in os.supports_fd:
            os.utime(descriptor, ns=(CACHED_MTIME_NS, CACHED_MTIME_NS))

    def _probe_modes(self) -> set[int]:
        probe = self._place(b".mill-probe")
        exact: set[int] = set()
        for mode in (0o444, 0o555, 0o644, 0o755):
            descriptor = os.open(probe, _CREATE, mode, dir_fd=self._descriptor)
            if os.fstat(descriptor).st_mode & 0o7777 == mode:
                exact.add(mode)
            os.close(descriptor)
            os.unlink(probe, dir_fd=self._descriptor)
        return exact


def _set_mode(descriptor: int, mode: int) -> None:
    """Some file servers refuse to change permissions; what matters is whether the file can be read and executed."""
    try:
        os.fchmod(descriptor, mode)
    except PermissionError:
        if (os.fstat(descriptor).st_mode ^ mode) & 0o555:
            raise


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _begin_write_back(descriptor: int, start: int, end: int) -> None:
    # Loaded with the first large file: the processes that write small ones start sooner without ctypes.
    from millpond.lake.write_back import begin_write_back  # noqa: PLC0415

    begin_write_back(descriptor, start, end)


@contextmanager
def _translated(path: bytes) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _as_mill_error(path, error) from error


def _as_mill_error(path: bytes, error: OSError) -> MillError:
    name = to_text(path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"No space left for {name!r}.", hint="Free space, then try again.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Forbidden(f"Cannot write {name!r} here: {error.strerror}.")
    if error.errno == errno.EEXIST:
        return Conflict(
            f"{name!r} already exists.",
            hint="Another process writes here, or this file system ignores case.",
        )
    return VolumeProblem(f"Cannot write {name!r}: {error.strerror}.")
