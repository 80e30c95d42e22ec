"""Changing a folder in place: what is new is fetched and checked aside, and put in place file by file.

Interrupted at any moment, every file is the old or the new one, and doing it again goes on.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import Conflict
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.transfer import Downloader, Progress
from millpond.model.path import RESERVED_PART, to_text
from millpond.model.tree import Entry, Kind, TreeChange

_HAS_DIR_FD = {os.stat, os.unlink, os.rmdir, os.mkdir, os.rename} <= os.supports_dir_fd
_STATE = os.fsdecode(RESERVED_PART)
_INCOMING = "incoming-"
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time by the clock of the file system that stamps a folder's files."""

    nanoseconds: int


def moment_in(root: Path) -> Moment:
    """Now, to be taken before a folder is looked at: what changes behind it is not overwritten unseen."""
    state = root / _STATE
    state.mkdir(exist_ok=True)
    with tempfile.TemporaryFile(dir=state) as probe:
        return Moment(os.fstat(probe.fileno()).st_mtime_ns)


@contextmanager
def preparing_update(
    root: Path,
    source: Downloader,
    tree: str,
    changes: Sequence[TreeChange],
    *,
    seen: Moment,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Iterator[Update]:
    """Fetch what `changes`, sorted by path, bring to the folder: from what it held at `seen` to what `tree` holds.

    Conflict, with nothing changed, if a file has been changed since, or one that belongs to no tree (because it is
    ignored) is in the way; `overwrite` takes those along. The folder changes when `apply` is called in the block.
    """
    state = root / _STATE
    for left_behind in state.glob(f"{_INCOMING}*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    incoming = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=state))
    try:
        update = Update(root, incoming, changes, None if overwrite else seen)
        update.check()
        options = FetchOptions(paths=_contents(changes))
        update.external = fetch_tree(source, tree, incoming, options=options, progress=progress).external
        yield update
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


@dataclass(slots=True)
class Update:
    """Changes of a folder whose content lies ready in `incoming`; `external` is what came from outside the lake."""

    root: Path
    incoming: Path
    changes: Sequence[TreeChange]
    seen: Moment | None
    external: Sequence[tuple[Entry, Entry]] = ()

    def check(self) -> None:
        """Conflict if something would be lost."""
        with _Folder.opened(self.root) as folder:
            if self.seen is not None:
                _check_untouched(folder, self.changes, self.seen)

    def apply(self) -> None:
        """Nothing is ever written through a link."""
        self.check()
        with _Folder.opened(self.root) as folder, _Folder.opened(self.incoming) as arrived:
            _remove(folder, self.changes)
            _put(folder, arrived, self.changes)


def _contents(changes: Sequence[TreeChange]) -> list[bytes]:
    return [change.path for change in changes if change.after is not None and change.after.kind != Kind.DIRECTORY]


def _check_untouched(folder: _Folder, changes: Sequence[TreeChange], seen: Moment) -> None:
    going = {change.path for change in changes if _goes(change)}
    found = (_in_the_way(folder, change, going, seen) for change in changes)
    in_the_way = list(dict.fromkeys(path for path in found if path is not None))
    if in_the_way:
        named = ", ".join(repr(to_text(path)) for path in in_the_way[:_NAMED])
        more = f" and {len(in_the_way) - _NAMED:,} more" if len(in_the_way) > _NAMED else ""
        raise Conflict(
            f"Would be overwritten, though no commit holds it: {named}{more}. Nothing was changed.",
            hint="Move it away, or run the command again if it has just changed.",
            paths=[to_text(path) for path in in_the_way],
        )


def _in_the_way(folder: _Folder, change: TreeChange, going: Collection[bytes], seen: Moment) -> bytes | None:
    """What would be lost by a change, or keep it from being made: it must be found before the first file is touched."""
    status = folder.status(change.path)
    if status is None:
        obstacle = folder.obstacle(change.path) if change.after is not None else None
        return obstacle if obstacle not in going else None
    if stat.S_ISDIR(status.st_mode):
        needs_its_place = change.after is not None and change.after.kind != Kind.DIRECTORY
        return folder.staying_below(change.path, going) if needs_its_place else None
    is_unseen = change.before is None or max(status.st_mtime_ns, status.st_ctime_ns) > seen.nanoseconds
    return change.path if is_unseen else None


def _goes(change: TreeChange) -> bool:
    """Whether what was there is removed before anything is put."""
    return change.before is not None and (change.after is None or _changes_between_file_and_directory(change))


def _remove(folder: _Folder, changes: Sequence[TreeChange]) -> None:
    """Deepest first; directories go with the last thing in them."""
    for change in reversed(changes):
        if change.before is None or not _goes(change):
            continue
        with _said(change.path):
            if change.before.kind == Kind.DIRECTORY:
                folder.remove_directory(change.path)
            else:
                folder.remove_file(change.path)
        parent = change.path.rpartition(b"/")[0]
        while parent and folder.remove_directory(parent):
            parent = parent.rpartition(b"/")[0]


def _put(folder: _Folder, arrived: _Folder, changes: Sequence[TreeChange]) -> None:
    for change in changes:
        if change.after is None:
            continue
        with _said(change.path):
            folder.make_directories(change.path.rpartition(b"/")[0])
            if change.after.kind == Kind.DIRECTORY:
                folder.make_directories(change.path)
            else:
                folder.take(arrived, change.path)


def _changes_between_file_and_directory(change: TreeChange) -> bool:
    assert change.before is not None and change.after is not None
    return (change.before.kind == Kind.DIRECTORY) != (change.after.kind == Kind.DIRECTORY)


class _Folder:
    """Paths inside one folder: relative to it while it is open, so that long ones work too."""

    def __init__(self, root: bytes, descriptor: int | None) -> None:
        self._root = root
        self._descriptor = descriptor

    @classmethod
    @contextmanager
    def opened(cls, root: Path) -> Iterator[_Folder]:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if _HAS_DIR_FD else None
        try:
            yield cls(os.fsencode(root), descriptor)
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def status(self, path: bytes) -> os.stat_result | None:
        """What lies at this path; None also where a link stands for one of its directories: that leads elsewhere."""
        if not self._is_reached(path):
            return None
        return self._look(path)

    def obstacle(self, path: bytes) -> bytes | None:
        """What stands in place of a directory of this path; None where nothing does."""
        at = path.find(b"/")
        while at >= 0:
            status = self._look(path[:at])
            if status is None:
                return None
            if not stat.S_ISDIR(status.st_mode):
                return path[:at]
            at = path.find(b"/", at + 1)
        return None

    def staying_below(self, directory: bytes, going: Collection[bytes]) -> bytes | None:
        """Something in this directory that is not among what goes."""
        descriptor = os.open(self._place(directory), os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._descriptor)
        try:
            names = sorted(os.fsencode(name) for name in os.listdir(descriptor))
        finally:
            os.close(descriptor)
        for path in (directory + b"/" + name for name in names):
            status = self._look(path)
            is_directory = status is not None and stat.S_ISDIR(status.st_mode)
            found = self.staying_below(path, going) if is_directory else path
            if found is not None and found not in going:
                return found
        return None

    def remove_file(self, path: bytes) -> None:
        if self._is_reached(path):
            with suppress(FileNotFoundError):
                os.unlink(self._place(path), dir_fd=self._descriptor)

    def remove_directory(self, path: bytes) -> bool:
        """False if it holds something still, or is none."""
        if not self._is_reached(path):
            return False
        try:
            os.rmdir(self._place(path), dir_fd=self._descriptor)
        except OSError:
            return False
        return True

    def make_directories(self, path: bytes) -> None:
        """Each part is a real directory afterwards, never a link to one."""
        at = 0
        while at < len(path):
            end = path.find(b"/", at + 1)
            at = len(path) if end < 0 else end
            status = self.status(path[:at])
            if status is None:
                os.mkdir(self._place(path[:at]), 0o755, dir_fd=self._descriptor)
            elif not stat.S_ISDIR(status.st_mode):
                raise FileExistsError(0, f"{to_text(path[:at])!r} exists and is not a directory")

    def take(self, other: _Folder, path: bytes) -> None:
        os.replace(other._place(path), self._place(path), src_dir_fd=other._descriptor, dst_dir_fd=self._descriptor)

    def _is_reached(self, path: bytes) -> bool:
        """Whether every directory of this path is a real one."""
        at = path.find(b"/")
        while at >= 0:
            status = self._look(path[:at])
            if status is None or not stat.S_ISDIR(status.st_mode):
                return False
            at = path.find(b"/", at + 1)
        return True

    def _look(self, path: bytes) -> os.stat_result | None:
        try:
            return os.stat(self._place(path), dir_fd=self._descriptor, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _place(self, path: bytes) -> bytes:
        return path if self._descriptor is not None else self._root + b"/" + path


@contextmanager
def _said(path: bytes) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Conflict(
            f"{to_text(path)!r} cannot be changed: {error.strerror}.",
            hint="Fix that and run the command again: it continues where it stopped.",
        ) from error
