"""Files that need not be fetched, because the volume has them: of published commits, or of interrupted attempts.

Those of a published commit were checked before it was published, so a look at size, time and permissions is enough:
whatever was written to since has another time. Those of an attempt are read and held against their digest.
"""

from __future__ import annotations

import logging
import os
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from millpond.cache.link_process import Link
from millpond.cache.linking import Linkers
from millpond.cache.reflink import clone
from millpond.errors import Corrupt, MillError
from millpond.lake.crew import processes_for
from millpond.lake.diff import diff_trees
from millpond.lake.pages import Row, entry_of
from millpond.lake.reader import KeptPages, PageSource, TreeReader
from millpond.lake.streaming import entry_of_stream
from millpond.lake.target import CACHED_MTIME_NS, Target
from millpond.model.tree import Content, Entry, Kind, TreeChange

log = logging.getLogger(__name__)

# Differences looked through for files that have only moved, before anything is written: some 50 MB of memory.
_MOVED_MOST = 100_000
_BLOCK = 1 << 20
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_THREADS = 2
# Pages are read by so many, as far as they are surely kept until they are needed.
_READERS = 4
_LEAVES_AHEAD = 100
# Files that one thread makes at a time.
_AT_ONCE = 128
_COMPARED = stat.S_IFMT(0xFFFF) | 0o555
_MODES = {int(Kind.FILE): stat.S_IFREG | 0o444, int(Kind.EXECUTABLE): stat.S_IFREG | 0o555}


@dataclass(frozen=True, slots=True)
class BaseTree:
    """A published commit, the tree that it holds, and where the pages of that tree are read.

    One of another volume (`is_elsewhere`) is copied from: it is not shared, and counted apart.
    """

    path: Path
    tree: str
    pages: PageSource
    is_elsewhere: bool = False


class _Candidate(NamedTuple):
    """A file that may have the content of an entry, below an open directory."""

    directory: int
    path: bytes
    # It was checked before it was published; otherwise its content is read.
    is_trusted: bool = True
    is_elsewhere: bool = False


class LocalFiles:
    """Makes files of the tree `root` from `bases` and from the `older` trees of attempts at it.

    To be called with the entries of the tree in the order of their paths. Leave the block to close what is open.
    """

    def __init__(self, source: KeptPages, root: str, bases: Sequence[BaseTree], older: Sequence[Path]) -> None:
        self.copied_files = self.copied_bytes = 0
        self._stack = ExitStack()
        self._processes = processes_for(TreeReader(source, root).root_ref().entries)
        self._linkers: Linkers | None = None
        # Not more: names in one directory are made one after the other, whoever asks.
        self._pool = ThreadPoolExecutor(max(_THREADS, self._processes), "local")
        self._stack.callback(self._pool.shutdown, cancel_futures=True)
        self._older = [fd for path in older if (fd := self._open(path)) is not None]
        self._bases = [
            _Base(directory, _changes(source, base, root), base.is_elsewhere)
            for base in bases
            if (directory := self._open(base.path)) is not None
        ]

    @property
    def is_empty(self) -> bool:
        return not self._older and not self._bases

    @property
    def most_left(self) -> int | None:
        """How many entries differ from a base at most; None if that is not known."""
        known = [base.differences for base in self._bases if base.differences is not None]
        return min(known, default=None)

    def __call__(self, rows: Sequence[Row], into: Target) -> Callable[[], Sequence[Row]]:
        """Begin to make what the volume has, as it should be. What is returned waits for that: the entries left."""
        linkers = self._linkers_into(into)
        planned = list(zip(rows, self._candidates(rows), strict=True))
        share = -(-len(planned) // self._processes) if linkers else _AT_ONCE
        parts = [planned[at : at + share] for at in range(0, len(planned), share)]
        making = [self._pool.submit(_make, part, into, linkers) for part in parts]
        return lambda: self._left(making)

    def _left(self, making: Sequence[Future[tuple[list[Row], list[int]]]]) -> list[Row]:
        left: list[Row] = []
        for rest, copied in (made.result() for made in making):
            left += rest
            self.copied_files += len(copied)
            self.copied_bytes += sum(copied)
        return left

    def _linkers_into(self, into: Target) -> Linkers | None:
        """Started with the first entries, if there are so many that it pays and a base to link from."""
        directories = [base.directory for base in self._bases if not base.is_elsewhere]
        if self._linkers is None and self._processes and directories and into.descriptor is not None:
            self._linkers = Linkers(directories, into.descriptor, _COMPARED, self._processes)
            self._stack.callback(self._linkers.close)
        return self._linkers

    def __enter__(self) -> LocalFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _candidates(self, rows: Sequence[Row]) -> list[list[_Candidate]]:
        """For each entry the files that may have its content, the best first."""
        found: list[list[_Candidate]] = [[] for _ in rows]
        for base in self._bases:
            for candidates, there in zip(found, base.paths_of(rows), strict=True):
                if there is not None:
                    candidates.append(_Candidate(base.directory, there, is_elsewhere=base.is_elsewhere))
        for directory in self._older:
            for candidates, row in zip(found, rows, strict=True):
                if row[1] in _MODES:
                    candidates.append(_Candidate(directory, row[0], is_trusted=False))
        return found

    def _open(self, path: Path) -> int | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None  # it was evicted meanwhile: everything is fetched
        self._stack.callback(os.close, descriptor)
        return descriptor


class _Base:
    """Where a base has the content of an entry: at the same path, or where it was before it was moved."""

    def __init__(self, directory: int, changes: Iterator[TreeChange], is_elsewhere: bool) -> None:
        self.directory = directory
        self.is_elsewhere = is_elsewhere
        # None if there are more than were looked at.
        self.differences: int | None = None
        self._later = changes
        self._is_over = False
        self._changed: deque[bytes] = deque()
        # Each is taken once, so that equal files stay as many as they are.
        self._moved: defaultdict[tuple[bytes, int], list[bytes]] = defaultdict(list)
        while len(self._changed) < _MOVED_MOST:
            if (change := self._next()) is None:
                self.differences = None if self._is_over else len(self._changed)
                break
            before = change.before
            if before is not None and before.kind.is_file and before.size:
                self._moved[before.digest, before.kind].append(change.path)

    def paths_of(self, rows: Sequence[Row]) -> list[bytes | None]:
        """Where the base has each of these, which come in the order of paths; None for what it does not have."""
        changed = self._changed_up_to(rows[-1][0]) if rows else set()
        if self._is_over:
            return [None] * len(rows)
        return [
            None if kind not in _MODES else path if path not in changed else self._before(digest, kind)
            for path, kind, _, _, digest in rows
        ]

    def _before(self, digest: bytes, kind: int) -> bytes | None:
        moved = self._moved.get((digest, kind))
        return moved.pop() if moved else None

    def _changed_up_to(self, last: bytes) -> set[bytes]:
        """The paths not behind `last` that differ between the two trees, each asked for once."""
        found: set[bytes] = set()
        while (self._changed or self._next() is not None) and self._changed[0] <= last:
            found.add(self._changed.popleft())
        return found

    def _next(self) -> TreeChange | None:
        """The next difference, which is noted. A base whose pages cannot be read is of no use any more, and no harm."""
        try:
            change = next(self._later, None)
        except MillError as error:
            log.warning("a base cannot be compared with: %s", error.message)
            self._is_over = True
            return None
        if change is not None:
            self._changed.append(change.path)
        return change


def _changes(source: KeptPages, base: BaseTree, root: str) -> Iterator[TreeChange]:
    """What differs. Nothing is read before the first one is asked for, and then the first pages side by side."""
    before = source.beside(base.pages)
    old, new = (
        {ref.id: None for ref in islice(TreeReader(pages, tree).leaves(), _LEAVES_AHEAD)}
        for pages, tree in ((before, base.tree), (source, root))
    )
    with ThreadPoolExecutor(_READERS, "compare") as pool:
        for read in [
            *(pool.submit(before.decoded, page_id) for page_id in old if page_id not in new),
            *(pool.submit(source.decoded, page_id) for page_id in new if page_id not in old),
        ]:
            read.result()
    yield from diff_trees(source, base.tree, root, before_source=before)


def is_content(directory: int, path: bytes, entry: Entry) -> bool:
    """Whether the file below the open `directory` has, byte for byte, the content that the entry names.

    An external entry names no content: no file is known to have it.
    """
    if entry.content == Content.EXTERNAL:
        return False
    try:
        descriptor = os.open(path, _OPEN, dir_fd=directory)
    except OSError:
        return False
    try:
        read = entry_of_stream(path, entry.size, _blocks(descriptor), lambda digest, data: None)
    except (Corrupt, OSError):  # fewer bytes or more, or some that the disk cannot read
        return False
    finally:
        os.close(descriptor)
    return read.digest == entry.digest


def has_mode(mode: int, kind: int) -> bool:
    """Whether this is a file that everybody may read, and execute if it is executable.

    Who may write is left aside: some file servers do not let that be changed.
    """
    return mode & _COMPARED == _MODES[kind]


def _make(
    planned: Sequence[tuple[Row, list[_Candidate]]], into: Target, linkers: Linkers | None
) -> tuple[list[Row], list[int]]:
    """Make what can be made; what is left, and the sizes of what was copied from elsewhere."""
    left: list[Row] = []
    copied: list[int] = []
    for row, candidates in planned if linkers is None else _not_linked(planned, linkers):
        taken = next((one for one in candidates if _looks_right(one, row) and _take(one, row, into)), None)
        if taken is None:
            left.append(row)
        elif taken.is_elsewhere:
            copied.append(row[3])
    return left, copied


def _not_linked(
    planned: Sequence[tuple[Row, list[_Candidate]]], linkers: Linkers
) -> list[tuple[Row, list[_Candidate]]]:
    """Have linked what is trusted, if it looks right; the others, in order."""
    links: list[Link] = []
    numbers: list[int] = []
    for number, (row, candidates) in enumerate(planned):
        best = candidates[0] if candidates else None
        if best is not None and best.is_trusted and not best.is_elsewhere:
            links.append((best.directory, best.path, row[0], row[3], CACHED_MTIME_NS, _MODES[row[1]]))
            numbers.append(number)
    left = {numbers[at] for at in linkers.link(links)} if links else set()
    done = set(numbers) - left
    return [one for number, one in enumerate(planned) if number not in done]


def _looks_right(candidate: _Candidate, row: Row) -> bool:
    """Whether a file is there, finished and untouched since: the last thing that whoever made it did was its time."""
    try:
        found = os.stat(candidate.path, dir_fd=candidate.directory, follow_symlinks=False)
    except OSError:
        return False
    return found.st_size == row[3] and found.st_mtime_ns == CACHED_MTIME_NS and has_mode(found.st_mode, row[1])


def _take(candidate: _Candidate, row: Row, into: Target) -> bool:
    """Link the file; where that is not possible, copy it. What lies elsewhere is always copied, and checked."""
    directory, path, is_trusted, is_elsewhere = candidate
    if is_elsewhere:
        return _copy(directory, path, entry_of(row), into, may_share=False)
    if not is_trusted and not is_content(directory, path, entry_of(row)):
        return False
    return into.link_file(row[0], path, directory) or _copy(directory, path, entry_of(row), into)


def _copy(directory: int, path: bytes, entry: Entry, into: Target, *, may_share: bool = True) -> bool:
    """A copy that shares its blocks, where it may and the file system can do that; otherwise one of its own.

    Of that every byte passes through here, so it is checked; external entries name no digest to check against.
    """
    try:
        descriptor = os.open(path, _OPEN, dir_fd=directory)
    except OSError:
        return False

    def write(target: int) -> None:
        if may_share and clone(descriptor, target):
            return
        if entry.content != Content.EXTERNAL and not is_content(directory, path, entry):
            raise Corrupt("What the volume has is damaged.")
        _copy_bytes(descriptor, target)

    try:
        into.make_file(entry.path, entry.kind, write)
    except Corrupt:
        return False
    finally:
        os.close(descriptor)
    return True


def _copy_bytes(source: int, target: int) -> None:
    for block in _blocks(source):
        view = memoryview(block)
        while view:
            view = view[os.write(target, view) :]


def _blocks(descriptor: int) -> Iterator[bytes]:
    offset = 0
    while block := os.pread(descriptor, _BLOCK, offset):
        offset += len(block)
        yield block
