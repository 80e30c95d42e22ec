"""What is done with the files of one directory, some hundred at a time: by a process of its own, or in this one.

Each call takes names of a directory below the open `source`, and mostly writes to the same one below `target`. A job
may change the source meanwhile: directories are opened part by part and links never followed, so nothing leads outside.
"""

from __future__ import annotations

import errno
import gc
import marshal
import os
import signal
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, NamedTuple

from millpond.volumes.reflink import clone
from millpond.volumes.workspaces.copying import copy_attributes, copy_content, held
from millpond.volumes.workspaces.extents import allocated

# What changes when a file does, as lake/batch has it.
NUMBERS = struct.Struct("<QQqq")
NO_NUMBERS = bytes(NUMBERS.size)
METACOPY = "trusted.overlay.metacopy"

_LENGTH_BYTES = 4
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Whatever a job puts in the place of a file meanwhile, opening it waits for nobody.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# How often a file that is written to is copied before the copy counts as torn.
_TRIES = 3
_BLOCK = 512


class _Process:
    """Of this process: True if it has no umask, so that new files have exactly the mode that they are made with."""

    is_open = False


_process = _Process()


class Task(NamedTuple):
    """What to do with every file.

    `clone` shares blocks with the source, or copies where that cannot be; `copy` only copies; `layer` makes a file that
    has owner, mode and size, and leaves the content to the layer below; `give` changes the owner; `remove` unlinks;
    `measure` counts what is allocated.
    """

    operation: str
    # Owner of what is made; None: as in the source.
    uid: int | None = None
    # Files get the modes of an ordinary clone, 0644 or 0755, whatever those of the source.
    plain_modes: bool = False
    # Attributes and special files go along: those of an upper layer mean something.
    whole: bool = False
    # The numbers that are told are those of what was made, not of the source.
    made_numbers: bool = False
    # A directory of the target where files with several names are found again, so that they become one file here, too.
    links: bytes = b""


class Done(NamedTuple):
    """What became of some files; `numbers` of each name, in order, where that was asked for."""

    files: int = 0
    # What they hold. Of copies: without holes, and of a file with several names once.
    size: int = 0
    # Bytes that were copied, because blocks could not be shared.
    copied: int = 0
    # Files that changed while they were copied, however often.
    torn: int = 0
    # Allocated for these files: theirs alone, and shared with others.
    unique: int = 0
    shared: int = 0
    numbers: bytes = b""


def send(pipe: BinaryIO, message: Any) -> None:
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little") + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; EOFError at the end."""
    return marshal.loads(pipe.read(int.from_bytes(pipe.read(_LENGTH_BYTES), "little")))


def serve(orders: BinaryIO, answers: BinaryIO, source: int, target: int) -> None:
    """Carry out orders, each a directory and names in it, until there are no more. The first says what to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0)
    _process.is_open = True
    gc.disable()
    with suppress(EOFError):
        task = Task(*receive(orders))
        while True:
            directory, names = receive(orders)
            try:
                send(answers, tuple(carry_out(task, source, target, directory, names)))
            except OSError as error:
                send(answers, (error.errno or errno.EIO, error.strerror or str(error), error.filename))


def carry_out(task: Task, source: int, target: int, directory: bytes, names: Sequence[bytes]) -> Done:
    """Do it for all `names` of a directory. What has vanished is left out. OSError names the path that failed."""
    try:
        with opened_below(source, directory) as here:
            if task.operation in ("clone", "copy", "layer"):
                with opened_below(target, directory) as there:
                    return _Making(task, here, there, target).all(names)
            return _Counting(task, here).all(names)
    except (FileNotFoundError, NotADirectoryError) as error:
        if error.filename is not None:
            raise
        return Done(numbers=NO_NUMBERS * len(names))  # the directory itself is gone
    except OSError as error:
        raise OSError(error.errno, error.strerror, _joined(directory, error.filename)) from error


@contextmanager
def opened_below(root: int, path: bytes) -> Iterator[int]:
    """The directory at `path` below the open `root`, of any depth. No link is followed. Errors have no file name."""
    descriptor = os.dup(root)
    try:
        for part in filter(None, path.split(b"/")):
            try:
                below = os.open(part, _DIRECTORY, dir_fd=descriptor)
            except OSError as error:
                # A link where a directory was: somebody has changed it.
                number = errno.ENOENT if error.errno in (errno.ELOOP, errno.ENOTDIR) else error.errno
                raise OSError(number, error.strerror) from None
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


class _Making:
    """Makes files of one open directory in another, which lies below `target`."""

    def __init__(self, task: Task, here: int, there: int, target: int) -> None:
        self._task, self._here, self._there, self._target = task, here, there, target
        self._bytes = self._copied = self._torn = self._files = 0

    def all(self, names: Sequence[bytes]) -> Done:
        one = self._layer if self._task.operation == "layer" else self._copy
        numbers = []
        for name in names:
            try:
                numbers.append(one(name))
            except FileNotFoundError:
                numbers.append(NO_NUMBERS)
        return Done(self._files, self._bytes, self._copied, self._torn, numbers=b"".join(numbers))

    def _copy(self, name: bytes) -> bytes:
        try:
            source = os.open(name, _READ, dir_fd=self._here)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO):
                raise
            return self._special(name)
        try:
            found = os.fstat(source)
            if not stat.S_ISREG(found.st_mode):
                return self._special(name)
            if self._task.links and found.st_nlink > 1 and self._linked(name, found):
                self._files += 1
                return numbers_of(found)
            made = os.open(name, _CREATE, self._mode(found), dir_fd=self._there)
            try:
                is_torn = found.st_size > 0 and self._content(source, made, found)
                if self._task.whole:
                    copy_attributes(source, made)
                self._finish(made, found)
                told = os.fstat(made) if self._task.made_numbers else found
            finally:
                os.close(made)
        finally:
            os.close(source)
        has_others = self._task.links and found.st_nlink > 1 and not is_torn
        is_new = not has_others or self._note_link(name, found)
        self._files += 1
        self._bytes += held(found) if is_new else 0
        return NO_NUMBERS if is_torn else numbers_of(told)

    def _linked(self, name: bytes, found: os.stat_result) -> bool:
        """Make it another name of the copy that is there, if there is one."""
        try:
            os.link(self._link_of(found), name, src_dir_fd=self._target, dst_dir_fd=self._there)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EMLINK):
                raise
            return False
        return True

    def _note_link(self, name: bytes, found: os.stat_result) -> bool:
        """From now on it is found by other names of the same file. False if one of them was: it is that one now."""
        link = self._link_of(found)
        try:
            os.link(name, link, src_dir_fd=self._there, dst_dir_fd=self._target)
        except FileExistsError:  # another name of it was copied at the same time, by another process
            spare = b"%b/%b" % (self._task.links, os.urandom(8).hex().encode())
            with suppress(OSError):  # with too many names it stays a file of its own
                os.link(link, spare, src_dir_fd=self._target, dst_dir_fd=self._target)
                os.rename(spare, name, src_dir_fd=self._target, dst_dir_fd=self._there)
                return False
        return True

    def _link_of(self, found: os.stat_result) -> bytes:
        # With size and times: of a file that changes meanwhile, each name gets what it holds when it is copied.
        return b"%b/%b" % (self._task.links, numbers_of(found).hex().encode())

    def _content(self, source: int, made: int, found: os.stat_result) -> bool:
        """True if the file has changed while it was copied, and did so again."""
        if self._task.operation == "clone" and clone(source, made):
            return False
        for _ in range(_TRIES):
            copy_content(source, made, found)
            after = os.fstat(source)
            if numbers_of(after) == numbers_of(found):
                self._copied += found.st_size
                return False
            os.ftruncate(made, 0)
            found = after
        self._copied += copy_content(source, made, found)
        self._torn += 1
        return True

    def _layer(self, name: bytes) -> bytes:
        found = os.stat(name, dir_fd=self._here, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            return self._special(name)
        made = os.open(name, _CREATE, self._mode(found), dir_fd=self._there)
        try:
            if found.st_size:
                os.ftruncate(made, found.st_size)
                os.setxattr(made, METACOPY, b"")
            self._finish(made, found)
            self._files += 1
            self._bytes += found.st_size
            return numbers_of(os.fstat(made))
        finally:
            os.close(made)

    def _special(self, name: bytes) -> bytes:
        """A link, a FIFO or, of an upper layer, a whiteout. Sockets belong to a process and are left out."""
        found = os.stat(name, dir_fd=self._here, follow_symlinks=False)
        kind = stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFLNK:
            os.symlink(os.readlink(name, dir_fd=self._here), name, dir_fd=self._there)
        elif kind == stat.S_IFIFO or (kind == stat.S_IFCHR and found.st_rdev == 0 and self._task.whole):
            os.mknod(name, found.st_mode, dir_fd=self._there)
        else:
            return NO_NUMBERS
        self._chown(name, found)
        times = (found.st_atime_ns, found.st_mtime_ns)
        os.utime(name, ns=times, dir_fd=self._there, follow_symlinks=False)
        self._files += 1
        if self._task.made_numbers:
            found = os.stat(name, dir_fd=self._there, follow_symlinks=False)
        return numbers_of(found)

    def _mode(self, found: os.stat_result) -> int:
        if self._task.plain_modes:
            return 0o755 if found.st_mode & stat.S_IXUSR else 0o644
        return stat.S_IMODE(found.st_mode)

    def _chown(self, name: bytes, found: os.stat_result) -> None:
        owner, group = self._owner(found)
        if (owner, group) != (os.geteuid(), os.getegid()):
            os.chown(name, owner, group, dir_fd=self._there, follow_symlinks=False)

    def _finish(self, made: int, found: os.stat_result) -> None:
        owner, group = self._owner(found)
        if (owner, group) != (os.geteuid(), os.getegid()):
            os.fchown(made, owner, group)
        mode = self._mode(found)
        if not _process.is_open or mode > 0o777:
            os.fchmod(made, mode)
        os.utime(made, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _owner(self, found: os.stat_result) -> tuple[int, int]:
        return owner_of(self._task, found)


class _Counting:
    """What needs no second directory."""

    def __init__(self, task: Task, here: int) -> None:
        self._task, self._here = task, here

    def all(self, names: Sequence[bytes]) -> Done:
        one = {"give": self._give, "remove": self._remove, "measure": self._measure}[self._task.operation]
        unique = shared = files = size = 0
        for name in names:
            with suppress(FileNotFoundError):
                found, mine, others = one(name)
                files, unique, shared, size = files + 1, unique + mine, shared + others, size + found
        numbers = b"".join(map(self._numbers, names)) if self._task.made_numbers else b""
        return Done(files, size, unique=unique, shared=shared, numbers=numbers)

    def _numbers(self, name: bytes) -> bytes:
        try:
            return numbers_of(os.stat(name, dir_fd=self._here, follow_symlinks=False))
        except FileNotFoundError:
            return NO_NUMBERS

    def _give(self, name: bytes) -> tuple[int, int, int]:
        if self._task.uid is not None:
            os.chown(name, self._task.uid, self._task.uid, dir_fd=self._here, follow_symlinks=False)
        return 0, 0, 0

    def _remove(self, name: bytes) -> tuple[int, int, int]:
        os.unlink(name, dir_fd=self._here)
        return 0, 0, 0

    def _measure(self, name: bytes) -> tuple[int, int, int]:
        found = os.stat(name, dir_fd=self._here, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or not found.st_blocks:
            return found.st_size if stat.S_ISREG(found.st_mode) else 0, found.st_blocks * _BLOCK, 0
        try:
            descriptor = os.open(name, _READ, dir_fd=self._here)
        except OSError:
            return found.st_size, found.st_blocks * _BLOCK // found.st_nlink, 0
        try:
            mine, others = allocated(descriptor, found)
            # Every name of a file is come across: each of them takes its part.
            return found.st_size, mine // found.st_nlink, others // found.st_nlink
        finally:
            os.close(descriptor)


def owner_of(task: Task, found: os.stat_result) -> tuple[int, int]:
    """Whom a copy of something belongs to. Whoever is not root can give nothing away."""
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    return (found.st_uid, found.st_gid) if task.uid is None else (task.uid, task.uid)


def numbers_of(found: os.stat_result) -> bytes:
    return NUMBERS.pack(found.st_ino & 0xFFFFFFFFFFFFFFFF, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _joined(directory: bytes, name: Any) -> bytes:
    below = os.fsencode(name) if isinstance(name, str | bytes) else b""
    return b"/".join(filter(None, (directory, below)))
