from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from millpond.lake.batch import batches
from millpond.lake.digests import digest_of
from millpond.lake.pages import entry_of, row_of
from millpond.lake.scan import Found, scan
from millpond.lake.statcache import RACY_NANOSECONDS, StatCache
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.lake import Thing, write_things


def status_of(size: int = 5, changed: int = 10**9, inode: int = 7) -> os.stat_result:
    """A status with nanoseconds, which only the system can make."""
    times = {"st_mtime_ns": changed, "st_ctime_ns": changed, "st_atime_ns": changed}
    return os.stat_result((0o100644, inode, 1, 1, 0, 0, size, 1, 1, 1), times)  # type: ignore[arg-type]


def found(path: bytes, **values: int) -> Found:
    return Found(path, Kind.FILE, status_of(**values))


def entry(path: bytes) -> Entry:
    return Entry(path, Kind.FILE, 5, Content.BLOB, digest_of(path))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".mill" / "stat-cache"


def recorded(path: Path, *names: bytes) -> None:
    with StatCache(path) as cache:
        for name in names:
            record(cache, entry(name), status_of())


def record(cache: StatCache, entry: Entry, status: os.stat_result) -> None:
    (batch,) = batches([[Found(entry.path, entry.kind, status)]])
    batch.rows = [row_of(entry)]
    cache.record(batch)


def lookup(cache: StatCache, found: Found) -> Entry | None:
    (batch,) = batches([[found]])
    cache.lookup(batch)
    (row,) = batch.rows
    return entry_of(row) if row else None


def test_remembers(path: Path) -> None:
    names = [b"%05d" % n for n in range(3000)]
    recorded(path, *names)
    with StatCache(path) as cache:
        assert [lookup(cache, found(name)) for name in names] == [entry(name) for name in names]


@pytest.mark.parametrize("change", [{"size": 6}, {"changed": 10**9 + 1}, {"inode": 8}])
def test_any_difference_means_read_again(path: Path, change: dict[str, int]) -> None:
    recorded(path, b"a", b"b")
    with StatCache(path) as cache:
        assert lookup(cache, found(b"a", **change)) is None
        assert lookup(cache, found(b"b")) == entry(b"b")


def test_a_changed_mode_means_read_again(path: Path) -> None:
    recorded(path, b"a")
    with StatCache(path) as cache:
        assert lookup(cache, Found(b"a", Kind.EXECUTABLE, status_of())) is None


def test_paths_that_came_or_went_do_not_disturb_the_others(path: Path) -> None:
    recorded(path, b"a", b"b", b"d")
    with StatCache(path) as cache:
        assert [lookup(cache, found(name)) for name in (b"b", b"c", b"d", b"e")] == [
            entry(b"b"),
            None,
            entry(b"d"),
            None,
        ]


def test_what_was_changed_just_now_is_not_trusted(path: Path) -> None:
    write_things(path.parent.parent, [Thing(b"fresh", b"x")])
    (fresh,) = [item for item in scan(path.parent.parent) if item.path == b"fresh"]
    assert fresh.status is not None
    with StatCache(path) as cache:
        record(cache, Entry(b"fresh", Kind.FILE, 1, Content.BLOB, digest_of(b"x")), fresh.status)
        now = path.parent.joinpath(f"stat-cache.{os.getpid()}").stat().st_mtime_ns
        record(cache, entry(b"g"), status_of(changed=now - RACY_NANOSECONDS))
        record(cache, entry(b"h"), status_of(changed=now - RACY_NANOSECONDS - 1))
    with StatCache(path) as cache:
        assert lookup(cache, fresh) is None
        assert lookup(cache, found(b"g", changed=now - RACY_NANOSECONDS)) is None
        assert lookup(cache, found(b"h", changed=now - RACY_NANOSECONDS - 1)) == entry(b"h")


def test_an_interrupted_scan_keeps_the_rest(path: Path) -> None:
    recorded(path, b"a", b"b", b"c")
    with pytest.raises(KeyboardInterrupt), StatCache(path) as cache:
        lookup(cache, found(b"a"))
        record(cache, entry(b"a"), status_of())
        raise KeyboardInterrupt
    with StatCache(path) as cache:
        assert [lookup(cache, found(name)) for name in (b"a", b"b", b"c")] == [entry(n) for n in (b"a", b"b", b"c")]


@pytest.mark.parametrize("cut", [0, 3, 20, -1])
def test_a_damaged_file_is_as_good_as_none(path: Path, cut: int) -> None:
    recorded(path, b"a")
    path.write_bytes(path.read_bytes()[:cut])
    with StatCache(path) as cache:
        assert lookup(cache, found(b"a")) is None
    recorded(path, b"a")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with StatCache(path) as cache:
        assert lookup(cache, found(b"a")) is None


def test_rehash_forgets(path: Path) -> None:
    recorded(path, b"a")
    with StatCache(path, rehash=True) as cache:
        assert lookup(cache, found(b"a")) is None


def test_a_batch_is_looked_up_and_recorded_like_one_by_one(path: Path) -> None:
    names = [b"%05d" % n for n in range(3000)]
    things = [found(name, size=1 + number % 2) for number, name in enumerate(names)]
    with StatCache(path) as cache:
        for batch in batches(things[at : at + 700] for at in range(0, 3000, 700)):
            batch.rows = [(item.path, item.kind, Content.BLOB, item.size, digest_of(item.path)) for item in batch.found]
            batch.rows[5] = None  # has vanished
            cache.record(batch)
    with StatCache(path) as cache:
        for batch in batches([things[:1500], [Found(b"01499-dir", Kind.DIRECTORY)], things[1500:]]):
            cache.lookup(batch)
            for item, row in zip(batch.found, batch.rows, strict=True):
                assert row is None or row[:4] == (item.path, item.kind, row[2], item.size)
                is_recorded = item.path in names and int(item.path) % 700 != 5
                assert (row is not None) == (is_recorded or item.kind is Kind.DIRECTORY)


def test_leaves_no_other_files(path: Path) -> None:
    recorded(path, b"a")
    assert [name.name for name in path.parent.iterdir()] == ["stat-cache"]


def test_a_directory_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    recorded(tmp_path / "file" / "stat-cache", b"a")
    assert (tmp_path / "file").read_bytes() == b""


def test_a_full_disk_leaves_the_old_file(path: Path) -> None:
    recorded(path, b"a")
    old = path.read_bytes()
    path.with_name(f"stat-cache.{os.getpid()}").symlink_to("/dev/full")
    recorded(path, b"b")
    assert path.read_bytes() == old
    assert [name.name for name in path.parent.iterdir()] == ["stat-cache"]


def test_what_a_killed_scan_left_behind_goes_with_the_next(path: Path) -> None:
    recorded(path, b"a")
    ended = subprocess.Popen(["true"])
    ended.wait()
    left, running = (path.with_name(f"{path.name}.{process}") for process in (ended.pid, os.getppid()))
    left.touch()
    running.touch()
    recorded(path, b"a")
    assert (left.exists(), running.exists()) == (False, True)
