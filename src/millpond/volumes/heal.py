"""Putting a published commit right: a new file takes the name of the wrong one in one rename.

Whoever reads sees the old file or the new one, whole. A damaged file that other commits share by hard link is replaced
in all of them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.target import CACHED_MTIME_NS
from millpond.lake.transfer import Downloader, Progress
from millpond.volumes.attempt import FillAttempt
from millpond.volumes.remove import remove_tree
from millpond.volumes.volume import PASSABLE

_TIMES = (CACHED_MTIME_NS, CACHED_MTIME_NS)


@dataclass(slots=True)
class CacheDamage:
    """Paths of a published commit: `wrong` ones are fetched anew, `surplus` ones do not belong there.

    `shared` are the inodes of wrong files that other commits may have too.
    """

    wrong: list[bytes] = field(default_factory=list)
    surplus: list[bytes] = field(default_factory=list)
    shared: dict[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.wrong) + len(self.surplus)


class Healer:
    """Heals the commit of an attempt, and the `others` where they share what was wrong.

    All names are relative to open directories: of a tree that is evicted meanwhile nothing can come back.
    """

    def __init__(
        self,
        attempt: FillAttempt,
        tree: str,
        source: Downloader,
        others: Sequence[Path],
        progress: Progress | None = None,
    ) -> None:
        self._published = attempt.volume.commit(attempt.place)
        self._work = attempt.path
        self._tree = tree
        self._source = source
        self._others = others
        self._progress = progress

    def heal(self, damage: CacheDamage) -> int:
        """Put all of it right; the bytes that came over the network for that. `progress` may raise to end it."""
        fresh = self._work / f"fresh-{secrets.token_hex(4)}"
        fresh.mkdir()
        options = FetchOptions(read_only=True, paths=damage.wrong)
        sent = 0
        if damage.wrong:
            sent = fetch_tree(self._source, self._tree, fresh, options=options, progress=self._progress).moved.sent
        with _directory(fresh) as new, _opened(self._published, self._aside) as into:
            # While its own name is there, no other file can have its number.
            shared = {inode: path for inode, path in damage.shared.items() if into.inode(path) == inode}
            for tree in self._others if shared else ():
                self._heal_other(tree, shared, new)
            for path in damage.surplus:
                into.move_away(path)
            for path in damage.wrong:
                into.put(path, path, new)
        remove_tree(fresh)
        return sent

    def _heal_other(self, tree: Path, shared: Mapping[int, bytes], fresh: int) -> None:
        """Give every name that a damaged file has in another tree to the new one."""
        try:
            with _opened(tree, self._aside) as into:
                for path, inode in into.names_of(shared.keys()):
                    copy = self._aside()
                    _link_or_copy(fresh, shared[inode], copy)
                    into.put(copy, path)
        except FileNotFoundError:
            return  # evicted meanwhile

    def _aside(self) -> bytes:
        """A name of the attempt that nobody has used: what is there goes with it."""
        return os.fsencode(self._work) + b"/" + secrets.token_hex(8).encode()


class _Into:
    """One published tree that is being changed. Directories keep the time of a cache."""

    def __init__(self, root: int, aside: Callable[[], bytes]) -> None:
        self._root = root
        self._aside = aside
        self._touched: set[bytes] = set()

    def put(self, new: bytes, path: bytes, directory: int | None = None) -> None:
        """`new`, below an open directory unless its path is whole, takes the place of whatever is at `path`."""
        self._make_parents(path)
        is_directory = stat.S_ISDIR(os.stat(new, dir_fd=directory, follow_symlinks=False).st_mode)
        if is_directory != self._is_directory(path):
            self.move_away(path)
        if is_directory:
            self._make(path)
            self._touched.add(path)
        else:
            os.replace(new, path, src_dir_fd=directory, dst_dir_fd=self._root)
        self._touched.add(_parent(path))

    def move_away(self, path: bytes) -> None:
        """Out of the published tree, if it is there."""
        try:
            os.rename(path, self._aside(), src_dir_fd=self._root)
        except (FileNotFoundError, NotADirectoryError):
            return
        self._touched.add(_parent(path))

    def settle(self) -> None:
        for path in sorted(self._touched, key=len, reverse=True):
            os.utime(path, ns=_TIMES, dir_fd=self._root)

    def inode(self, path: bytes) -> int | None:
        """None where nothing is any more."""
        try:
            return os.stat(path, dir_fd=self._root, follow_symlinks=False).st_ino
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names_of(self, inodes: Collection[int]) -> list[tuple[bytes, int]]:
        """Every path of the tree that is a name of one of these files, and of which."""
        found: list[tuple[bytes, int]] = []
        waiting = [b""]
        while waiting:
            directory = waiting.pop()
            with _directory(directory or b".", self._root) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    name = os.fsencode(entry.name)
                    path = directory + b"/" + name if directory else name
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    elif entry.inode() in inodes:
                        found.append((path, entry.inode()))
        return found

    def _make_parents(self, path: bytes) -> None:
        at = path.find(b"/")
        while at >= 0:
            if self._make(path[:at] or b"."):
                self._touched.update((path[:at], _parent(path[:at])))
            at = path.find(b"/", at + 1)

    def _make(self, path: bytes) -> bool:
        """Make a directory that everybody may enter, whatever the umask; whether there was none."""
        try:
            os.mkdir(path, PASSABLE, dir_fd=self._root)
        except FileExistsError:
            return False
        with suppress(PermissionError):
            os.chmod(path, PASSABLE, dir_fd=self._root)
        return True

    def _is_directory(self, path: bytes) -> bool:
        try:
            return stat.S_ISDIR(os.stat(path, dir_fd=self._root, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False


@contextmanager
def _opened(tree: Path, aside: Callable[[], bytes]) -> Iterator[_Into]:
    with _directory(tree) as root:
        into = _Into(root, aside)
        yield into
        into.settle()


@contextmanager
def _directory(path: Path | bytes, above: int | None = None) -> Iterator[int]:
    """Open: with the directory written before them, paths may be longer than systems take."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _parent(path: bytes) -> bytes:
    return path.rpartition(b"/")[0] or b"."


def _link_or_copy(directory: int, path: bytes, copy: bytes) -> None:
    try:
        os.link(path, copy, src_dir_fd=directory)
    except OSError:
        # Whatever the reason (too many links, a file system without): a copy does.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory), "rb") as file, open(copy, "xb") as new:
            shutil.copyfileobj(file, new)
            os.fchmod(new.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        os.utime(copy, ns=_TIMES)
