"""How much the trees of a project take on a volume, and which files they share: counted inode by inode."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.volumes.volume import CacheVolume, CommitPlace, explained

# Files with several names that are remembered at a time: some 100 MB. Of more, each walk takes a part.
_AT_ONCE = 1_000_000
BLOCK = 512  # of st_blocks, whatever the file system
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Share:
    """What is allocated for the files that exactly these commits have; a directory belongs to its own commit."""

    commits: frozenset[str]
    bytes: int
    inodes: int


def measure(volume: CacheVolume, places: Sequence[CommitPlace], *, at_once: int = _AT_ONCE) -> list[Share]:
    """The shares of these published commits, which are all of one project. What is gone meanwhile counts nothing."""
    with explained(volume):
        trees = [volume.commit(place) for place in places]
        totals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        parts, part = 1, 0
        while part < parts:
            shared = _walk(trees, totals, part, parts, at_once)
            if shared is None:
                # Too many at once: the whole again, in twice as many parts.
                totals.clear()
                parts, part = parts * 2, 0
                continue
            for members, size in shared.values():
                _add(totals[members], size)
            part += 1
    return [
        Share(frozenset(place.commit_id for n, place in enumerate(places) if members >> n & 1), size, count)
        for members, (size, count) in sorted(totals.items())
    ]


def _walk(
    trees: Sequence[Path], totals: dict[int, list[int]], part: int, parts: int, most: int
) -> dict[int, tuple[int, int]] | None:
    """Add up what one tree alone has (in the first part), and return the files with several names of this part.

    By inode: the trees that have it, as bits, and its size. None when there are more than `most`.
    """
    shared: dict[int, tuple[int, int]] = {}
    for number, tree in enumerate(trees):
        for found in everything(tree):
            size = found.st_blocks * BLOCK
            if found.st_nlink == 1 or not stat.S_ISREG(found.st_mode):
                if part == 0:
                    _add(totals[1 << number], size)
            elif found.st_ino % parts == part:
                members = shared[found.st_ino][0] if found.st_ino in shared else 0
                shared[found.st_ino] = (members | 1 << number, size)
                if len(shared) > most:
                    return None
    return shared


def _add(total: list[int], size: int) -> None:
    total[0] += size
    total[1] += 1


def everything(tree: Path) -> Iterator[os.stat_result]:
    """The directory itself and all below it; links are not followed. Nothing for what is gone meanwhile."""
    try:
        root = os.open(tree, _DIRECTORY)
    except FileNotFoundError:
        return
    try:
        yield os.fstat(root)
        waiting = [b""]
        while waiting:
            for path, found in _entries(root, waiting.pop()):
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(path)
                yield found
    finally:
        os.close(root)


def _entries(root: int, directory: bytes) -> Iterator[tuple[bytes, os.stat_result]]:
    """What is in a directory below an open one, by paths from there: whole ones may be longer than systems take."""
    try:
        descriptor = os.open(directory or b".", _DIRECTORY, dir_fd=root)
    except FileNotFoundError:
        return
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    name = os.fsencode(entry.name)
                    yield directory + b"/" + name if directory else name, entry.stat(follow_symlinks=False)
    finally:
        os.close(descriptor)
