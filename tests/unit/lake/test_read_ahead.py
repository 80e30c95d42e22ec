"""Reading what a scan found: in order and complete, whoever reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millpond.lake import read_ahead
from millpond.lake.read_ahead import BATCH_FILES, ReadAhead, batches
from millpond.lake.reading import Reading
from millpond.lake.scan import Found, scan
from millpond.model.tree import Entry, Kind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(2 * BATCH_FILES + 3):
        (tmp_path / f"{number:04d}").write_bytes(b"%d" % number)
        os.utime(tmp_path / f"{number:04d}", (1, 1))
    return tmp_path


@pytest.mark.parametrize("fetched", [0, 1 << 30], ids=["from memory", "from a slow disk"])
def test_everything_comes_in_order(folder: Path, fetched: int, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = iter(range(0, fetched * 1000 + 1, fetched or 1)) if fetched else None
    monkeypatch.setattr(read_ahead, "_bytes_fetched", lambda: next(waited) if waited else 0)
    found = _read(folder)
    assert [item.path for item, _ in found] == sorted(os.fsencode(path.name) for path in folder.iterdir())
    assert all(isinstance(result, Reading) and result.data == b"%d" % int(item.path) for item, result in found)


def test_what_is_known_is_not_read(folder: Path) -> None:
    known = Entry(b"0001", Kind.FILE)
    results = dict(_read(folder, known={b"0001": known}))
    assert {item.path: result for item, result in results.items()}[b"0001"] is known


def test_what_has_vanished_is_none(folder: Path) -> None:
    seen = list(scan(folder))
    (folder / "0007").unlink()
    results = {item.path: result for item, result in _read(folder, seen=seen)}
    assert results[b"0007"] is None
    assert len(results) == len(seen)


def _read(
    folder: Path, *, known: dict[bytes, Entry] | None = None, seen: list[Found] | None = None
) -> list[tuple[Found, Entry | Reading | None]]:
    def items() -> Iterator[tuple[Found, Entry | None]]:
        for item in scan(folder) if seen is None else seen:
            yield item, (known or {}).get(item.path)

    with ThreadPoolExecutor(2) as pool:
        return list(ReadAhead(os.fsencode(folder), pool).results(batches(items())))
