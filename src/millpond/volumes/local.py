"""Files that need not be fetched, because the volume has them: of published commits, or of interrupted attempts.

Those of a published commit were checked before it was published, so a look at size, time and permissions is enough:
whatever was written to since has another time. Those of an attempt are read and held against their digest. What a job
has just made on this machine is copied, every byte checked on its way.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Protocol

from millpond.lake.crew import processes_for
from millpond.lake.nursery import Nursery
from millpond.lake.pages import Row
from millpond.lake.reader import KeptPages, TreeReader
from millpond.lake.target import CACHED_MTIME_NS, Target
from millpond.model.fill_source import DISK_KEY, VOLUME_KEY
from millpond.model.tree import Content
from millpond.volumes.bases import FILES, Base, BaseTree, changes_since
from millpond.volumes.link_process import Links
from millpond.volumes.linking import Linkers
from millpond.volumes.reuse_file import COMPARED, MODES, NO_DIRECTORY, ReusableFile, is_taken
from millpond.volumes.source_tally import SourceTally

_THREADS = 2
# Files that one thread makes at a time, and a process links at least and at most.
_AT_ONCE = 128
_LINKED_LEAST = 500
_LINKED_MOST = 2000

# Entries that a source has not, and what waits for the others: those of them that it could not make.
_Begun = tuple[Sequence[Row], Callable[[], Sequence[Row]]]

# Where a file with the content of a digest lies that a job has made on this machine; None for no such file.
MadeHere = Callable[[bytes], bytes | None]


def nothing_made(digest: bytes) -> bytes | None:
    """No job has made anything here."""
    return None


class MoreFiles(Protocol):
    """Makes files of a tree without the lake, as `FetchOptions.local` says, and counts what each source gave."""

    def __call__(self, rows: Sequence[Row], into: Target, /) -> _Begun: ...


def chained(sources: Sequence[MoreFiles]) -> Callable[[Sequence[Row], Target], _Begun] | None:
    """All of them as one: each is asked for what those before it do not have. None for none."""

    def begin(rows: Sequence[Row], into: Target) -> _Begun:
        waits: list[Callable[[], Sequence[Row]]] = []
        for source in sources:
            rows, wait = source(rows, into)
            waits.append(wait)
        return rows, lambda: [row for wait in waits for row in wait()]

    return begin if sources else None


class LocalFiles:
    """Makes files of the tree `root` from `bases` and from the `older` trees of attempts at it.

    To be called with the entries of the tree in the order of their paths. Leave the block to close what is open.
    """

    def __init__(
        self,
        source: KeptPages,
        root: str,
        bases: Sequence[BaseTree],
        older: Sequence[Path],
        nursery: Nursery | None = None,
        *,
        made_here: MadeHere = nothing_made,
        tally: SourceTally | None = None,
    ) -> None:
        """Processes that link come from the `nursery`: one of their own, unless it is given."""
        self._made_here = made_here
        self._tally = tally or SourceTally()
        self._stack = ExitStack()
        # Closed last: threads may be writing there when whoever fetches has met an error and closed its own.
        self._into = self._stack.enter_context(ExitStack())
        self._target: Target | None = None
        self._processes = processes_for(TreeReader(source, root).root_ref().entries)
        self._nursery = nursery or self._stack.enter_context(closing(Nursery()))
        self._linkers: Linkers | None = None
        self._older = [fd for path in older if (fd := self._open(path)) is not None]
        self._bases = [
            Base(directory, changes_since(source, base, root), base)
            for base in bases
            if (directory := self._open(base.path)) is not None
        ]
        # Not more: names in one directory are made one after the other, whoever asks.
        self._pool = ThreadPoolExecutor(max(_THREADS, self._processes), "local")
        # Before what they work with is closed.
        self._stack.callback(self._pool.shutdown, cancel_futures=True)

    @property
    def is_empty(self) -> bool:
        return not self._older and not self._bases and self._made_here is nothing_made

    @property
    def most_left(self) -> int | None:
        """How many entries differ from a base at most; None if that is not known."""
        known = [base.differences for base in self._bases if base.differences is not None]
        return min(known, default=None)

    def __call__(self, rows: Sequence[Row], into: Target) -> tuple[Sequence[Row], Callable[[], Sequence[Row]]]:
        """Begin to make what the volume has, as it should be.

        Returns the entries that it has not, and what waits for the others: those of them that could not be made.
        """
        into = self._own(into)
        bases = [(base, base.paths_of(rows)) for base in self._bases]
        plan = _Plan(rows, bases, self._older, [_made_file(row, self._made_here) for row in rows], self._tally)
        linked, others, missing = plan.split()
        linkers = self._linkers_into(into)
        making: list[Future[list[Row]]] = []
        for there, numbers in linked:
            if linkers is None:
                others += numbers
                continue
            for part in _cut(rows, numbers):
                making.append(self._pool.submit(_link, linkers, plan, there, part, into))
        for start in range(0, len(others), _AT_ONCE):
            making.append(self._pool.submit(_make, plan, others[start : start + _AT_ONCE], into))
        return [rows[number] for number in missing], partial(_left, making)

    def _own(self, into: Target) -> Target:
        if self._target is None:
            own = Target.shared(into.root, read_only=into.read_only, exact_modes=into.exact_modes)
            self._target = self._into.enter_context(own)
        return self._target

    def _linkers_into(self, into: Target) -> Linkers | None:
        """Started with the first entries, if there are so many that it pays and a base to link from."""
        directories = [base.directory for base in self._bases]
        is_near = any(not base.is_elsewhere for base in self._bases)
        if self._linkers is None and self._processes and is_near and into.descriptor is not None:
            self._linkers = Linkers(
                self._nursery, directories, into.descriptor, self._processes, compared=COMPARED, mtime=CACHED_MTIME_NS
            )
            self._stack.callback(self._linkers.close)
        return self._linkers

    def __enter__(self) -> LocalFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _open(self, path: Path) -> int | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None  # it was evicted meanwhile: everything is fetched
        self._stack.callback(os.close, descriptor)
        return descriptor


# A base, and where it has each entry of a leaf; None for what it does not have.
_There = tuple[Base, list[bytes | None]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which files may have the content of the entries of a leaf: of bases, the best first, of `older` attempts, and
    files that jobs `made` here."""

    rows: Sequence[Row]
    bases: Sequence[_There]
    older: Sequence[int]
    made: Sequence[bytes | None]
    tally: SourceTally

    def split(self) -> tuple[list[tuple[_There, list[int]]], list[int], list[int]]:
        """The numbers of what is to be linked from each base, of what is made otherwise, and of what is not there."""
        linked: list[tuple[_There, list[int]]] = []
        others: list[int] = []
        missing = list(range(len(self.rows)))
        for base, paths in self.bases:
            numbers = [number for number in missing if paths[number] is not None]
            missing = [number for number in missing if paths[number] is None]
            if base.is_elsewhere:
                others += numbers
            else:
                linked.append(((base, paths), numbers))
        others += [number for number in missing if self._may_be_here(number)]
        missing = [number for number in missing if not self._may_be_here(number)]
        return linked, others, missing

    def _may_be_here(self, number: int) -> bool:
        return self.made[number] is not None or (bool(self.older) and self.rows[number][1] in FILES)

    def candidates(self, number: int) -> Iterator[ReusableFile]:
        for base, paths in self.bases:
            path = paths[number]
            if path is not None:
                yield ReusableFile(base.directory, path, source=base.source, watch=base.watch)
        path, kind, *_ = self.rows[number]
        if kind in FILES:
            for directory in self.older:
                yield ReusableFile(directory, path, is_trusted=False)
        if (made := self.made[number]) is not None:
            yield ReusableFile(NO_DIRECTORY, made, is_trusted=False, source=DISK_KEY)


def _left(making: Sequence[Future[list[Row]]]) -> list[Row]:
    return [row for made in making for row in made.result()]


def _made_file(row: Row, made_here: MadeHere) -> bytes | None:
    _, kind, content, _, digest = row
    return made_here(digest) if kind in FILES and content in (Content.BLOB, Content.CHUNKS) else None


def _cut(rows: Sequence[Row], numbers: list[int]) -> Iterator[list[int]]:
    """Parts for one process each, ending with a directory where they can: the kernel makes its names one by one."""
    start = 0
    while start < len(numbers):
        end = start + _LINKED_LEAST
        if end < len(numbers) and (parent := rows[numbers[end - 1]][0].rpartition(b"/")[0]):
            most = min(start + _LINKED_MOST, len(numbers))
            end = bisect_left(numbers, parent + b"0", end, most, key=lambda number: rows[number][0])
        yield numbers[start:end]
        start = end


def _link(linkers: Linkers, plan: _Plan, there: _There, numbers: list[int], into: Target) -> list[Row]:
    """Have linked what looks right, and make the rest of it as can be."""
    base, paths = there
    rows = [plan.rows[number] for number in numbers]
    links: Links = (
        base.directory,
        [path for number in numbers if (path := paths[number]) is not None],
        [row[0] for row in rows],
        [row[3] for row in rows],
        [MODES[row[1]] for row in rows],
    )
    refused = linkers.link(links)
    plan.tally.add(VOLUME_KEY, sum(links[3]) - sum(links[3][at] for at in refused), len(numbers) - len(refused))
    return _make(plan, [numbers[at] for at in refused], into)


def _make(plan: _Plan, numbers: Sequence[int], into: Target) -> list[Row]:
    """Make what can be made; what is left."""
    left: list[Row] = []
    for number in numbers:
        row = plan.rows[number]
        with plan.tally.file() as came:
            taken = next((one for one in plan.candidates(number) if is_taken(one, row, into, came)), None)
            if taken is None:
                left.append(row)
            else:
                plan.tally.add(taken.source, row[3])
    return left
