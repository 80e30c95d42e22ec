"""Reading what a scan found: in order and complete, whoever reads it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.lake import read_ahead
from millpond.lake.batch import Batch, batches
from millpond.lake.digests import digest_of
from millpond.lake.pages import Row
from millpond.lake.read_ahead import ReadAhead
from millpond.lake.scan import RUN_FILES, Found, scan_runs
from millpond.model.tree import NO_DIGEST, Content, Kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(2 * RUN_FILES + 3):
        (tmp_path / f"{number:04d}").write_bytes(b"%d" % number)
        os.utime(tmp_path / f"{number:04d}", (1, 1))
    return tmp_path


@pytest.mark.parametrize("fetched", [0, 1 << 30], ids=["from memory", "from a slow disk"])
def test_everything_comes_in_order(folder: Path, fetched: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = iter(range(0, fetched * 1000 + 1, fetched or 1)) if fetched else None
    monkeypatch.setattr(read_ahead, "_bytes_fetched", lambda: next(waited) if waited else 0)
    found = _read(folder)
    rows = [row for batch in found for row in batch.rows]
    contents = [b"%d" % number for number in range(2 * RUN_FILES + 3)]
    assert rows == [
        (b"%04d" % number, Kind.FILE, Content.BLOB, len(data), digest_of(data)) for number, data in enumerate(contents)
    ]
    assert [data for batch in found for _, data in batch.blobs] == contents


def test_what_is_known_is_not_read(folder: Path) -> None:
    known = (b"0001", Kind.FILE, Content.BLOB, 7, digest_of(b"other"))
    first = _read(folder, known={b"0001": known})[0]
    assert first.rows[1] is known
    assert len(first.blobs) == len(first.rows) - 1
    assert first.has_known
    assert not _read(folder)[0].has_known


def test_what_has_vanished_stays_unknown(folder: Path) -> None:
    seen = list(scan_runs(folder))
    (folder / "0007").unlink()
    first = _read(folder, seen=seen)[0]
    assert [number for number, row in enumerate(first.rows) if row is None] == [7]


def test_what_is_no_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "c").symlink_to("b")
    (tmp_path / "d").write_bytes(bytes(1 + (1 << 20)))
    (tmp_path / "e").write_bytes(b"just now")
    first, second = _read(tmp_path)
    assert first.rows == [
        (b"a", Kind.DIRECTORY, Content.NOTHING, 0, NO_DIGEST),
        (b"b", Kind.FILE, Content.NOTHING, 0, NO_DIGEST),
        (b"c", Kind.SYMLINK, Content.BLOB, 1, digest_of(b"b")),
        None,  # is read in chunks
    ]
    assert second.rows == [(b"e", Kind.FILE, Content.BLOB, 8, digest_of(b"just now"))]


def test_a_file_that_changed_since_it_was_found_is_noted_as_it_is_now(folder: Path) -> None:
    seen = list(scan_runs(folder))
    (folder / "0007").write_bytes(b"longer than before")
    before, after = next(batches(seen)), _read(folder, seen=seen)[0]
    assert after.rows[7] == (b"0007", Kind.FILE, Content.BLOB, 18, digest_of(b"longer than before"))
    changed = [number for number in range(len(seen[0])) if before.numbers[number] != after.numbers[number]]
    assert changed == [7]
    assert after.newest >= (folder / "0007").stat().st_ctime_ns


def test_batches_are_bounded_and_end_with_a_large_file(tmp_path: Path) -> None:
    for number, size in enumerate([1 << 20] * 9 + [3 << 20] * 2 + [5]):
        with open(tmp_path / f"{number:02d}", "wb") as file:
            file.truncate(size)
    counts = [len(batch.found) for batch in batches(scan_runs(tmp_path))]
    assert counts == [4, 4, 2, 1, 1]


def _read(folder: Path, *, known: dict[bytes, Row] | None = None, seen: list[list[Found]] | None = None) -> list[Batch]:
    found = list(batches(scan_runs(folder) if seen is None else seen))
    for batch in found:
        batch.rows = [(known or {}).get(item.path, row) for item, row in zip(batch.found, batch.rows, strict=True)]
    with ThreadPoolExecutor(2) as pool:
        return list(ReadAhead(os.fsencode(folder), pool).results(found))
