"""What one leaf page holds, directory by directory: all that a list of the directories above needs to know of it."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from millpond.errors import BadFormat
from millpond.lake import frames
from millpond.lake.pages import LeafColumns, leaf_columns

# What a row costs in memory beside the bytes of its path.
_OVERHEAD = 120
_HEAD = struct.Struct("<4sI")
_MAGIC = b"MLF1"
# Above anything a leaf can hold: its path bytes, and three numbers for each entry.
_MOST = 4 << 20


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


def encode_folders(folders: LeafFolders) -> bytes:
    """As it is kept beside the leaf's row: one zstd frame. Derived, and no part of the lake's format."""
    count = len(folders.directories)
    ends = accumulate(map(len, folders.directories))
    numbers = struct.pack(f"<{2 * count}Q{count}I", *folders.entries, *folders.sizes, *ends)
    return frames.compress(b"".join((_HEAD.pack(_MAGIC, count), numbers, *folders.directories)))


def decode_folders(frame: bytes) -> LeafFolders:
    """BadFormat for what `encode_folders` has not made."""
    data = frames.decompress(frame, _MOST)
    try:
        magic, count = _HEAD.unpack_from(data)
        numbers = struct.unpack_from(f"<{2 * count}Q{count}I", data, _HEAD.size)
    except struct.error as error:
        raise BadFormat("What a leaf holds by directory is damaged.") from error
    ends, joined = numbers[2 * count :], data[_HEAD.size + 20 * count :]
    if magic != _MAGIC or (ends[-1] if ends else 0) != len(joined):
        raise BadFormat("What a leaf holds by directory is damaged.")
    directories = [joined[start:end] for start, end in pairwise((0, *ends))]
    return LeafFolders(directories, numbers[:count], numbers[count : 2 * count])


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
