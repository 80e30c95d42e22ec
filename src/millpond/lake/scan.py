"""Walking a directory in the order of tree paths: what would be committed, without reading any file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from millpond.errors import Forbidden, NotFound
from millpond.lake.ignore import IGNORE_FILE, LEAVE_OUT, IgnoreRules
from millpond.lake.long_paths import CALL_MOST, DeepEntry, list_deep
from millpond.model.path import MAX_PART, MAX_PATH, RESERVED_PART, to_text
from millpond.model.tree import Kind

# Told of every path that is skipped because no tree can hold it: the path and what it is.
Warn = Callable[[bytes, str], None]


class Skipped(dict[bytes, str]):
    """Paths that were skipped, with the reason. A `Warn` that collects; the same path counts once."""

    def __call__(self, path: bytes, why: str) -> None:
        self[path] = why


# Things found that are handed on together, at least where there are as many.
RUN_FILES = 256

_FIRST = itemgetter(0)
_SLASH = b"/"[0]
_DOT = b"."[0]

OnDisk = os.DirEntry[bytes] | DeepEntry


class Found(NamedTuple):
    """One thing on disk. `status` is None for an empty directory."""

    path: bytes
    kind: Kind
    status: os.stat_result | None = None

    @property
    def size(self) -> int:
        return 0 if self.status is None else self.status.st_size


def scan(
    root: Path,
    *,
    ignore_files: Sequence[bytes] = (IGNORE_FILE,),
    ignore: Sequence[str] = (),
    warn: Warn = lambda path, why: None,
) -> Iterator[Found]:
    """Everything below `root` in the order of tree paths. Links are not followed; the `.mill` of `root` is no content.

    `ignore` are rules that hold everywhere, before those of ignore files. What no tree can hold is skipped with a
    warning: sockets, devices and FIFOs, paths that are too long, `.mill` elsewhere. What vanishes while walking is
    skipped silently.
    """
    for run in scan_runs(root, ignore_files=ignore_files, ignore=ignore, warn=warn):
        yield from run


def scan_runs(
    root: Path,
    *,
    ignore_files: Sequence[bytes] = (IGNORE_FILE,),
    ignore: Sequence[str] = (),
    warn: Warn = lambda path, why: None,
) -> Iterator[list[Found]]:
    """The same, some hundred things at a time."""
    walk = _Walk(os.fsencode(root), tuple(ignore_files), warn)
    waiting = [walk.children(b"", IgnoreRules.everywhere(ignore))]
    run: list[Found] = []
    while waiting:
        item = next(waiting[-1], None)
        if item is None:
            waiting.pop()
        elif isinstance(item, list):
            run += item
            if len(run) >= RUN_FILES:
                yield run
                run = []
        else:
            waiting.append(walk.children(*item))
    if run:
        yield run


class _Walk:
    def __init__(self, root: bytes, ignore_files: tuple[bytes, ...], warn: Warn) -> None:
        self._root = root
        self._ignore_files = ignore_files
        self._warn = warn

    def children(self, directory: bytes, above: IgnoreRules) -> Iterator[list[Found] | tuple[bytes, IgnoreRules]]:
        """What one directory holds in tree order; a directory that holds something is given as path and rules."""
        rules = above.below(self._root, directory, self._ignore_files)
        kept = [
            (self._sort_key(path, rules) if entry.is_dir(follow_symlinks=False) else path, entry)
            for path, entry in self._kept(directory, rules, self._warn)
        ]
        kept.sort(key=_FIRST, reverse=True)
        while kept:
            if run := self._run(directory, kept):
                yield run
            if kept and kept[-1][0][-1] == _SLASH:
                yield kept.pop()[0][:-1], rules

    def _run(self, directory: bytes, kept: list[tuple[bytes, OnDisk]]) -> list[Found]:
        """Some of what is kept, up to a directory that holds something. Taken out: huge ones do not stay in memory."""
        run: list[Found] = []
        while kept and len(run) < RUN_FILES and kept[-1][0][-1] != _SLASH:
            key, entry = kept.pop()
            try:
                if entry.is_dir(follow_symlinks=False):
                    run.append(Found(key, Kind.DIRECTORY))
                else:
                    status = entry.stat(follow_symlinks=False)
                    run.append(Found(key, _kind(status.st_mode), status))
            except FileNotFoundError:
                continue
            except PermissionError as error:
                raise _unreadable(directory, error) from error
        return run

    def _sort_key(self, directory: bytes, rules: IgnoreRules) -> bytes:
        """What lies below a directory sorts behind its path and `/`, but an empty directory is an entry itself."""
        return directory if self._is_empty(directory, rules) else directory + b"/"

    def _is_empty(self, directory: bytes, above: IgnoreRules) -> bool:
        rules = above.below(self._root, directory, self._ignore_files)
        skipped = Skipped()
        if next(self._kept(directory, rules, skipped), None) is not None:
            return False  # it is listed again, with warnings
        for path, why in skipped.items():
            self._warn(path, why)
        return True

    def _kept(self, directory: bytes, rules: IgnoreRules, warn: Warn) -> Iterator[tuple[bytes, OnDisk]]:
        prefix = directory + b"/" if directory else b""
        is_plain = not rules.layers and len(prefix) + MAX_PART <= MAX_PATH
        with self._listing(directory) as listing:
            for entry in listing:
                name = entry.name
                path = prefix + name
                # Most are files with ordinary names, where nothing else is to be asked.
                is_ordinary = is_plain and name[0] != _DOT and len(name) <= MAX_PART
                if (is_ordinary and entry.is_file(follow_symlinks=False)) or self._belongs(path, entry, rules, warn):
                    yield path, entry

    def _listing(self, directory: bytes) -> AbstractContextManager[Iterable[OnDisk]]:
        full = os.path.join(self._root, directory)  # noqa: PTH118 - bytes path
        try:
            if len(full) + 1 + MAX_PART <= CALL_MOST:
                return os.scandir(full)  # looks at what it gives by its full name
            return nullcontext(list_deep(self._root, directory))
        except (FileNotFoundError, NotADirectoryError):
            if not directory:
                raise NotFound(f"There is no directory {os.fsdecode(self._root)!r}.") from None
            return nullcontext(())  # vanished since it was found
        except PermissionError as error:
            raise _unreadable(directory, error) from error

    def _belongs(self, path: bytes, entry: OnDisk, rules: IgnoreRules, warn: Warn) -> bool:
        if path == RESERVED_PART:
            return False
        directory = entry.is_dir(follow_symlinks=False)
        if rules.layers and rules.ignores(path, directory=directory):
            return False
        if entry.name.lower() == RESERVED_PART:
            warn(path, "reserved for working copies")
            return False
        if not directory and not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
            warn(path, "socket, device or FIFO")
            return False
        if len(path) > MAX_PATH or len(entry.name) > MAX_PART:
            warn(path, f"path longer than {MAX_PATH:,} bytes")
            return False
        return True


def _unreadable(directory: bytes, error: PermissionError) -> Forbidden:
    name = to_text(directory) or "."
    return Forbidden(f"The directory {name!r} cannot be read: {error.strerror}.", hint=LEAVE_OUT)


@cache  # there are a few modes and many files
def _kind(mode: int) -> Kind:
    if stat.S_ISLNK(mode):
        return Kind.SYMLINK
    return Kind.EXECUTABLE if mode & stat.S_IXUSR else Kind.FILE
