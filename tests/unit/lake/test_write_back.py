from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.lake.write_back import begin_write_back


@pytest.mark.parametrize(("start", "end"), [(0, 1 << 20), (100, 300_000), (5000, 6000), (0, 0)])
def test_what_was_written_stays_what_it_is(tmp_path: Path, start: int, end: int) -> None:
    file = tmp_path / "part"
    content = os.urandom(1 << 20)
    with file.open("wb") as out:
        out.write(content)
        out.flush()
        begin_write_back(out.fileno(), start, end)
    assert file.read_bytes() == content


def test_where_the_system_cannot_do_it_nothing_happens() -> None:
    reading, writing = os.pipe()
    try:
        begin_write_back(writing, 0, 1 << 20)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_disk_that_refuses_is_told_of(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        begin_write_back(descriptor, 0, 1 << 20)
