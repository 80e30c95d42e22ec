"""Reading every byte of a cached commit against its tree, and having whatever is wrong put right."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from millpond.errors import StoreUnavailable, VolumeProblem
from millpond.lake.digests import digest_of
from millpond.lake.reader import KeptPages, TreeReader, room_for_pages
from millpond.lake.target import CACHED_MTIME_NS
from millpond.lake.transfer import Downloader, Meter, Progress
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind
from millpond.volumes.attempt import FillAttempt
from millpond.volumes.fill import sync_file_system
from millpond.volumes.heal import CacheDamage, Healer
from millpond.volumes.reuse_file import has_mode, is_content
from millpond.volumes.volume import PASSABLE, CommitPlace, check, explained

_EXAMPLES = 10
_MODES = {
    Kind.FILE: stat.S_IFREG | 0o444,
    Kind.EXECUTABLE: stat.S_IFREG | 0o555,
    Kind.DIRECTORY: stat.S_IFDIR | PASSABLE,
}
# Damaged files that are put right together: few requests, and little memory however much is wrong.
_AT_ONCE = 20_000


@dataclass(slots=True)
class Checked:
    """What was looked at, what was not as it should be, and what of that was put right."""

    files: int = 0
    bytes: int = 0
    damaged: int = 0
    missing: int = 0
    extra: int = 0
    healed: int = 0
    fetched_bytes: int = 0
    examples: tuple[str, ...] = ()


def verify(
    attempt: FillAttempt,
    tree: str,
    source: Downloader,
    others: Sequence[CommitPlace],
    *,
    contents: bool = True,
    progress: Progress | None = None,
) -> Checked:
    """Check the published commit of the attempt and heal it; `others` are the project's other published commits.

    Without `contents` files are not read: their sizes, permissions and times are what whoever published them has set.

    VolumeProblem when it is not published or cannot be healed, StoreUnavailable while the lake is away: what was
    healed by then stays so. `progress` counts what was read, and may raise to end it.
    """
    volume = attempt.volume
    check(volume)
    try:
        with explained(volume):
            published = volume.commit(attempt.place)
            if not published.is_dir():
                raise VolumeProblem(f"{published} does not exist.", hint="It is filled again when requested.")
            try:
                return _Verification(attempt, tree, source, others, contents, progress).run()
            except (ConnectionError, TimeoutError) as error:
                raise StoreUnavailable(f"The lake does not respond: {error}.") from error
    finally:
        attempt.remove()


class _Verification:
    def __init__(
        self,
        attempt: FillAttempt,
        tree: str,
        source: Downloader,
        others: Sequence[CommitPlace],
        contents: bool,
        progress: Progress | None,
    ) -> None:
        self._contents = contents
        self._published = attempt.volume.commit(attempt.place)
        self._tree = TreeReader(KeptPages(source, room_for_pages()), tree)
        self._meter = Meter(progress)
        self._read = 0  # of the file that is being checked
        self._checked = Checked()
        self._damage = CacheDamage()
        trees = [attempt.volume.commit(place) for place in others if place != attempt.place]
        self._healer = Healer(attempt, tree, source, trees, lambda moved: self._meter.add())

    def run(self) -> Checked:
        whole = self._tree.root_ref()
        self._meter.expect(whole.entries, whole.size, counted=True)
        root = os.open(self._published, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # What does not belong there goes first: it may stand where something else should be.
            for path in self._surplus(root):
                self._checked.extra += 1
                self._note(path)
                self._damage.surplus.append(path)
            for entry in self._tree.entries():
                self._check(root, entry)
                if len(self._damage) >= _AT_ONCE:
                    self._heal()
            self._heal()
        finally:
            os.close(root)
        sync_file_system(self._published)
        self._meter.finish()
        return self._checked

    def _check(self, root: int, entry: Entry) -> None:
        seen = _stat(root, entry.path)
        found = _with_mode(root, entry.path, seen, entry.kind) if seen else None
        size = entry.size if entry.kind != Kind.DIRECTORY else 0
        self._read = 0
        if found is None:
            self._checked.missing += 1
            self._damage.wrong.append(entry.path)
            self._note(entry.path)
        elif not _is_right(root, entry, found, self._tell_read if self._contents else None):
            self._checked.damaged += 1
            self._damage.wrong.append(entry.path)
            self._note(entry.path)
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                self._damage.shared[found.st_ino] = entry.path
        elif found is not seen:
            self._mended(entry.path)
        self._checked.files += entry.kind != Kind.DIRECTORY
        self._checked.bytes += size
        self._meter.add(files=1, bytes=size - self._read)

    def _tell_read(self, length: int) -> None:
        """A large file takes long: how far it is, and that it is not wanted any more, is told at every block."""
        self._read += length
        self._meter.add(bytes=length)

    def _heal(self) -> None:
        if len(self._damage):
            self._checked.fetched_bytes += self._healer.heal(self._damage)
            self._checked.healed += len(self._damage)
            self._damage = CacheDamage()

    def _mended(self, path: bytes) -> None:
        """Only its permissions were wrong, and are right now."""
        self._checked.damaged += 1
        self._checked.healed += 1
        self._note(path)

    def _note(self, path: bytes) -> None:
        if len(self._checked.examples) < _EXAMPLES:
            self._checked.examples += (to_text(path),)

    def _surplus(self, root: int) -> Iterator[bytes]:
        """Every name that the tree does not have; of a directory that does not belong there only itself."""
        waiting = [b""]
        while waiting:
            directory = waiting.pop()
            seen = os.stat(directory or b".", dir_fd=root, follow_symlinks=False)
            if _with_mode(root, directory or b".", seen, Kind.DIRECTORY) is not seen:
                self._mended(directory or b".")
            for name, is_directory in _names(root, directory):
                path = directory + b"/" + name if directory else name
                if is_directory and self._tree.holds(path):
                    waiting.append(path)
                elif self._tree.stat(path) is None:
                    yield path


def _is_right(root: int, entry: Entry, found: os.stat_result, read: Callable[[int], None] | None) -> bool:
    """Without `read`, which is told of every block, contents are not looked at."""
    if entry.kind == Kind.DIRECTORY:
        return stat.S_ISDIR(found.st_mode)
    if entry.kind == Kind.SYMLINK:
        return stat.S_ISLNK(found.st_mode) and digest_of(os.readlink(entry.path, dir_fd=root)) == entry.digest
    return (
        has_mode(found.st_mode, entry.kind)
        and found.st_size == entry.size
        and found.st_mtime_ns == CACHED_MTIME_NS
        # An external entry names no digest: of it, size and time are all that can be held against it.
        and (read is None or entry.content == Content.EXTERNAL or is_content(root, entry.path, entry, read))
    )


def _with_mode(root: int, path: bytes, seen: os.stat_result, kind: Kind) -> os.stat_result:
    """What is there once its permissions are what they should be; `seen` itself where nothing had to be changed.

    So it is where they cannot be changed, as some file servers have it. Those of symbolic links mean nothing.
    """
    wanted = _MODES.get(kind)
    if wanted is None or stat.S_IFMT(seen.st_mode) != stat.S_IFMT(wanted) or seen.st_mode == wanted:
        return seen
    with suppress(PermissionError):
        os.chmod(path, stat.S_IMODE(wanted), dir_fd=root)
    found = os.stat(path, dir_fd=root, follow_symlinks=False)
    return found if found.st_mode == wanted else seen


def _stat(root: int, path: bytes) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _names(root: int, directory: bytes) -> list[tuple[bytes, bool]]:
    """The names in a directory, and whether each is one itself; sorted backwards, because it is used as a stack."""
    descriptor = os.open(directory or b".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
    try:
        with os.scandir(descriptor) as entries:
            found = [(os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
    finally:
        os.close(descriptor)
    return sorted(found, reverse=True)
