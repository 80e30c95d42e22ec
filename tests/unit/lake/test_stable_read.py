"""A file that changes while it is read is read again, or reported: never committed torn."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from millpond.errors import Conflict
from millpond.lake import stable_read
from millpond.lake.digests import digest_of
from millpond.lake.stable_read import is_settled, read_chunks, read_seen, read_whole
from millpond.model.tree import Content, Kind


@pytest.fixture
def root(tmp_path: Path) -> bytes:
    return os.fsencode(tmp_path)


def aged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, (1, 1))


def settled(path: Path) -> os.stat_result:
    """The file's status, once its timestamps are old enough to tell of any change."""
    while time.time_ns() - path.stat().st_ctime_ns < 30_000_000:
        time.sleep(0.005)
    return os.lstat(path)


def read(root: bytes, path: bytes, seen: os.stat_result) -> tuple[bytes | None, os.stat_result]:
    """As a push does it: what was seen stands for a question, if that is sure. The content and its status."""
    settled_then = is_settled(max(seen.st_mtime_ns, seen.st_ctime_ns))
    if settled_then and (data := read_seen(root + b"/" + path, seen)) is not None:
        return data, seen
    found = read_whole(root, path)
    assert found is not None
    return found.data, found.status


def after_fstat(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    """Call `act` with the number of the call each time a file's status was taken."""
    real, calls = os.fstat, [0]

    def fstat(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        calls[0] += 1
        act(calls[0])
        return status

    monkeypatch.setattr(os, "fstat", fstat)


@pytest.mark.parametrize("content", [b"longer than before", b"short", b"same.."])
def test_a_small_file_that_changes_is_read_again(
    tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    aged(tmp_path / "f", b"before")
    after_fstat(monkeypatch, lambda number: (tmp_path / "f").write_bytes(content) if number == 1 else None)
    found = read_whole(root, b"f")
    assert found is not None
    assert (found.data, found.entry.digest) == (content, digest_of(content))


def test_a_large_file_that_changes_is_read_again(tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(tmp_path / "f", bytes(3 << 20))
    after_fstat(monkeypatch, lambda number: aged(tmp_path / "f", b"x" * (2 << 20)) if number == 2 else None)
    found = read_chunks(root, b"f", lambda digest, data: None)
    monkeypatch.undo()
    assert found.entry == read_chunks(root, b"f", lambda digest, data: None).entry
    assert (found.entry.size, found.entry.content) == (2 << 20, Content.CHUNKS)


def test_a_file_that_never_rests_is_reported(tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(tmp_path / "f", b"0")
    after_fstat(monkeypatch, lambda number: (tmp_path / "f").write_bytes(b"%d" % number))
    with pytest.raises(Conflict, match="changes while it is read"):
        read_whole(root, b"f")


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_writer_in_place_never_gets_a_mixture_committed(tmp_path: Path, root: bytes, is_seen: bool) -> None:
    """Two versions written over each other without pause: each reading is one of them, or none."""
    versions = [bytes([n]) * 200_000 for n in (1, 2)]
    aged(tmp_path / "f", versions[0])
    written: list[int] = []

    def write() -> None:
        with open(tmp_path / "f", "r+b", buffering=0) as file:
            for number in range(100):
                file.seek(0)
                for part in range(0, 200_000, 50_000):
                    file.write(versions[number % 2][part : part + 50_000])
                written.append(number)
                time.sleep(0.08 if number % 10 == 0 else 0.001)  # the work of a writer, with pauses to be read in

    writer = threading.Thread(target=write)
    writer.start()
    readings = 0
    while writer.is_alive():
        try:
            data = read(root, b"f", os.lstat(tmp_path / "f"))[0] if is_seen else _whole(root, b"f")
        except Conflict:
            continue
        assert data in versions
        readings += 1
    writer.join()
    assert len(written) == 100
    assert readings


def _whole(root: bytes, path: bytes) -> bytes | None:
    found = read_whole(root, path)
    assert found is not None
    return found.data


def _write_over(path: Path) -> None:
    path.write_bytes(b"after!")


def _replace(path: Path) -> None:
    aged(path.with_name("other"), b"after!")
    path.with_name("other").rename(path)


def _grow(path: Path) -> None:
    aged(path, b"after!")


@pytest.mark.parametrize("change", [_write_over, _replace, _grow])
def test_a_file_that_is_not_what_was_seen_is_read_as_it_is(
    tmp_path: Path, root: bytes, change: Callable[[Path], None]
) -> None:
    aged(tmp_path / "f", b"before" if change is not _grow else b"be")
    seen = settled(tmp_path / "f")
    change(tmp_path / "f")
    data, status = read(root, b"f", seen)
    now = os.lstat(tmp_path / "f")
    assert (data, status.st_ino, status.st_ctime_ns) == (b"after!", now.st_ino, now.st_ctime_ns)


def test_a_seen_file_that_changes_while_it_is_read(
    tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(tmp_path / "f", b"before")
    seen = settled(tmp_path / "f")
    real = os.read
    written: list[int] = []

    def read_and_write(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if not written:
            written.append((tmp_path / "f").write_bytes(b"after!"))
        return data

    monkeypatch.setattr(os, "read", read_and_write)
    assert read(root, b"f", seen)[0] == b"after!"


def test_a_seen_file_is_asked_for_its_status_once(tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(tmp_path / "f", b"as it was")
    seen = settled(tmp_path / "f")
    calls: list[int] = []
    after_fstat(monkeypatch, calls.append)
    assert (*read(root, b"f", seen), calls) == (b"as it was", seen, [1])


def test_what_became_a_link_or_a_fifo_is_not_read_through(tmp_path: Path, root: bytes) -> None:
    for name in (b"l", b"p"):
        aged(tmp_path / os.fsdecode(name), b"file")
    seen = {name: settled(tmp_path / os.fsdecode(name)) for name in (b"l", b"p")}
    (tmp_path / "l").unlink()
    (tmp_path / "l").symlink_to("/etc/passwd")
    (tmp_path / "p").unlink()
    os.mkfifo(tmp_path / "p")
    assert read_seen(root + b"/l", seen[b"l"]) is None
    found = read_whole(root, b"l")
    assert found is not None
    assert (found.entry.kind, found.data) == (Kind.SYMLINK, b"/etc/passwd")
    with pytest.raises(Conflict):
        read(root, b"p", seen[b"p"])


def test_what_is_too_fresh_is_waited_for(tmp_path: Path, root: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    real = stable_read.time.sleep
    monkeypatch.setattr(stable_read.time, "sleep", lambda seconds: (waits.append(seconds), real(seconds)))
    (tmp_path / "f").write_bytes(b"just now")
    found = read_whole(root, b"f")
    assert found is not None
    assert found.data == b"just now"
    assert waits


def test_links_are_read_and_not_followed(tmp_path: Path, root: bytes) -> None:
    (tmp_path / "l").symlink_to("/etc/passwd")
    found = read_whole(root, b"l")
    assert found is not None
    assert (found.entry.kind, found.data) == (Kind.SYMLINK, b"/etc/passwd")


def test_a_fifo_does_not_hold_the_reader_up(tmp_path: Path, root: bytes) -> None:
    os.mkfifo(tmp_path / "f")
    with pytest.raises(Conflict):
        read_whole(root, b"f")


def test_what_has_vanished(root: bytes) -> None:
    with pytest.raises(FileNotFoundError):
        read_whole(root, b"gone")


def test_an_empty_file_has_no_content(tmp_path: Path, root: bytes) -> None:
    aged(tmp_path / "f", b"")
    found = read_whole(root, b"f")
    assert found is not None
    assert (found.entry.content, found.entry.size) == (Content.NOTHING, 0)


@pytest.mark.parametrize(("size", "content"), [(1 << 20, Content.BLOB), ((1 << 20) + 1, Content.CHUNKS)])
def test_the_limit_between_one_blob_and_chunks(tmp_path: Path, root: bytes, size: int, content: Content) -> None:
    aged(tmp_path / "f", bytes(size))
    blobs: list[int] = []
    found = read_chunks(root, b"f", lambda digest, data: blobs.append(len(data)))
    assert (found.entry.content, found.entry.size) == (content, size)
    assert sum(blobs) == size + (0 if content == Content.BLOB else 8 + 36 * (len(blobs) - 1))
