"""Archives as other programs read them: Python's own reader, and Info-ZIP where it is installed."""

from __future__ import annotations

import io
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millpond.services.datasets.zip_format import ZipWriter, pack

NOON = datetime(2026, 11, 15, 12, 34, 56, tzinfo=UTC)
FILE = stat.S_IFREG | 0o644


@pytest.fixture
def writer() -> Iterator[ZipWriter]:
    with closing(ZipWriter(NOON)) as made:
        yield made


def test_small_and_large_files_directories_and_links_come_back(tmp_path: Path, writer: ZipWriter) -> None:
    chunks = [b"large " * 1000, b"file"]
    parts = [
        *writer.add("d/", stat.S_IFDIR | 0o755, pack(b"", shrinks=False)),
        *writer.add("d/raw", FILE, pack(b"raw", shrinks=False)),
        *writer.add("d/text.txt", stat.S_IFREG | 0o755, pack(b"again " * 100, shrinks=True)),
        *writer.add("d/link", stat.S_IFLNK | 0o777, pack(b"raw", shrinks=False)),
        *writer.add_large("d/large", FILE, 6004, iter(chunks), shrinks=True),
        *writer.add_large("d/stored", FILE, 6004, iter(chunks), shrinks=False),
        *writer.add("d/über", FILE, pack(b"u", shrinks=False)),
        *writer.finish(),
    ]
    data = b"".join(parts)
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert found.testzip() is None
        assert found.namelist() == ["d/", "d/raw", "d/text.txt", "d/link", "d/large", "d/stored", "d/über"]
        assert found.read("d/large") == found.read("d/stored") == b"".join(chunks)
        assert found.read("d/text.txt") == b"again " * 100
        assert found.getinfo("d/text.txt").compress_size < 100
        assert found.getinfo("d/text.txt").external_attr >> 16 == stat.S_IFREG | 0o755
        assert stat.S_ISLNK(found.getinfo("d/link").external_attr >> 16)
        assert found.getinfo("d/raw").date_time == (2026, 11, 15, 12, 34, 56)
    if shutil.which("unzip"):
        (tmp_path / "a.zip").write_bytes(data)
        subprocess.run(["unzip", "-q", "a.zip"], cwd=tmp_path, check=True)
        assert (tmp_path / "d/link").read_text() == "raw"
        assert (tmp_path / "d/text.txt").stat().st_mode & 0o111


def test_what_does_not_shrink_is_stored() -> None:
    assert pack(b"ab", shrinks=True).content == b"ab"


def test_more_files_than_the_old_format_can_count(writer: ZipWriter) -> None:
    empty = pack(b"", shrinks=False)
    parts = [part for n in range(66_000) for part in writer.add(f"{n}", FILE, empty)]
    with zipfile.ZipFile(io.BytesIO(b"".join([*parts, *writer.finish()]))) as found:
        assert len(found.namelist()) == 66_000


def test_files_behind_more_bytes_than_the_old_format_can_count(tmp_path: Path, writer: ZipWriter) -> None:
    before = writer._offset = 5 << 30  # as if so much had been written: a hole in the file
    with (tmp_path / "large.zip").open("wb") as file:
        file.seek(before)
        file.writelines(writer.add("far", FILE, pack(b"far away", shrinks=False)))
        file.writelines(writer.add_large("farther", FILE, 4, iter([b"away"]), shrinks=True))
        file.writelines(writer.finish())
    with zipfile.ZipFile(tmp_path / "large.zip") as found:
        assert (found.read("far"), found.read("farther")) == (b"far away", b"away")


@pytest.mark.long
def test_a_file_of_more_bytes_than_the_old_format_can_count(tmp_path: Path, writer: ZipWriter) -> None:
    size = (4 << 30) + 5

    def chunks() -> Iterator[bytes]:
        for _ in range(1 << 12):
            yield bytes(1 << 20)
        yield b"12345"

    with (tmp_path / "large.zip").open("wb") as file:
        file.writelines(writer.add_large("large", FILE, size, chunks(), shrinks=True))
        file.writelines(writer.finish())
    with zipfile.ZipFile(tmp_path / "large.zip") as found:
        assert found.getinfo("large").file_size == size
        assert found.testzip() is None


@pytest.mark.parametrize("year", [1, 1979, 2200])
def test_times_the_format_cannot_hold_become_ones_it_can(year: int) -> None:
    with closing(ZipWriter(datetime(year, 5, 5, tzinfo=UTC))) as writer:
        data = b"".join([*writer.add("a", FILE, pack(b"a", shrinks=False)), *writer.finish()])
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert 1980 <= found.getinfo("a").date_time[0] <= 2107
