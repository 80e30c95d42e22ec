"""Processes link what looks right; what does not is left, and one that dies is told."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from millpond.errors import VolumeProblem
from millpond.lake.nursery import Nursery
from millpond.lake.target import CACHED_MTIME_NS
from millpond.volumes.linking import Linkers
from tests.workers import workers

READ_ONLY = stat.S_IFREG | 0o444
COMPARED = stat.S_IFMT(0xFFFF) | 0o555


@pytest.fixture
def base(tmp_path: Path) -> Path:
    made = tmp_path / "base"
    made.mkdir()
    for name in ("right", "touched", "short"):
        (made / name).write_bytes(b"content")
        (made / name).chmod(0o444)
        os.utime(made / name, ns=(CACHED_MTIME_NS, CACHED_MTIME_NS))
    os.utime(made / "touched")
    (made / "link").symlink_to("right")
    return made


@pytest.fixture
def open_directories(base: Path, tmp_path: Path) -> Iterator[tuple[int, int]]:
    (tmp_path / "target").mkdir()
    opened = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in (base, tmp_path / "target")]
    yield opened[0], opened[1]
    for descriptor in opened:
        os.close(descriptor)


@pytest.fixture
def linkers(open_directories: tuple[int, int]) -> Iterator[Linkers]:
    directory, target = open_directories
    with closing(Nursery()) as nursery:
        made = Linkers(nursery, [directory], target, 1, compared=COMPARED, mtime=CACHED_MTIME_NS)
        yield made
        made.close()


def test_what_looks_right_is_linked(
    linkers: Linkers, open_directories: tuple[int, int], base: Path, tmp_path: Path
) -> None:
    directory, _ = open_directories
    sizes = {b"right": 7, b"touched": 7, b"short": 8, b"link": 5, b"missing": 7}
    left = linkers.link(
        (directory, [*sizes], [b"new-" + name for name in sizes], [*sizes.values()], [READ_ONLY] * len(sizes))
    )
    assert left == [1, 2, 3, 4]
    assert [path.name for path in (tmp_path / "target").iterdir()] == ["new-right"]
    assert (tmp_path / "target/new-right").samefile(base / "right")
    again = (directory, [b"right"], [b"new-right"], [7], [READ_ONLY])
    assert linkers.link(again) == [0], "a name that is there already is for whoever asked to explain"


def test_a_process_that_ends_is_told(linkers: Linkers, open_directories: tuple[int, int]) -> None:
    links = (open_directories[0], [b"right"], [b"new"], [7], [READ_ONLY])
    assert linkers.link(links) == []
    [process] = workers()
    process.kill()
    with pytest.raises(VolumeProblem, match="ended before its work was done"):
        linkers.link(links)
