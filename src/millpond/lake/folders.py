"""What one leaf page holds, directory by directory: all that a list of the directories above needs to know of it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millpond.lake.pages import LeafColumns, leaf_columns

# What a row costs in memory beside the bytes of its path.
_OVERHEAD = 120


@dataclass(frozen=True, slots=True)
class LeafFolders:
    """The directories that hold entries of one leaf themselves: how many, and their bytes.

    In order, each with the `/` at its end; the root is empty.
    """

    directories: Sequence[bytes]
    entries: Sequence[int]
    sizes: Sequence[int]

    @property
    def weight(self) -> int:
        """About how many bytes of memory it takes."""
        return _OVERHEAD + sum(len(directory) + _OVERHEAD for directory in self.directories)


def folders_in(data: bytes) -> LeafFolders:
    """What the canonical bytes of a leaf hold; the leaf itself was checked when its commit was accepted.

    Directories mostly hold files by the hundred, so whole runs of entries are taken without looking at each.
    """
    columns = leaf_columns(data)
    entries: dict[bytes, int] = defaultdict(int)
    sizes: dict[bytes, int] = defaultdict(int)
    for directory, start, end in _runs(_Paths(columns)):
        entries[directory] += end - start
        sizes[directory] += sum(columns.sizes[start:end])
    ordered = sorted(entries)
    return LeafFolders(ordered, [entries[one] for one in ordered], [sizes[one] for one in ordered])


class _Paths:
    """The paths of a leaf, each cut out only when it is looked at."""

    def __init__(self, columns: LeafColumns) -> None:
        self._bytes = columns.path_bytes
        self._ends = (0, *columns.ends)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> bytes:
        return self._bytes[self._ends[number] : self._ends[number + 1]]

    def slashes(self, start: int, end: int) -> int:
        """How many there are in the paths from one number to before another."""
        return self._bytes.count(b"/", self._ends[start], self._ends[end])


def _runs(paths: _Paths) -> Iterator[tuple[bytes, int, int]]:
    """Each directory with entries that lie in it themselves, from the first number to before the second."""
    at = 0
    while at < len(paths):
        directory = paths[at][: paths[at].rfind(b"/") + 1]
        end = bisect_left(paths, directory[:-1] + b"0", at) if directory else len(paths)
        if paths.slashes(at, end) != (end - at) * directory.count(b"/"):
            end = at + 1  # directories lie between its files
        yield directory, at, end
        at = end
