"""Room is looked for on the disk as it is now, before the first byte and while it is filled."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.lake.transfer import Moved
from millpond.volumes.attempt import FillAttempt, begin_attempt
from millpond.volumes.disk_space import Needed, NoRoomYet, RoomWatch, check_room, left_by
from millpond.volumes.volume import CacheVolume, CommitPlace, Space, adopt

PLACE = CommitPlace("project", "dataset", "a" * 64)


@pytest.fixture
def volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CacheVolume:
    """A disk with 1 MB and 100 inodes free."""
    monkeypatch.setattr(CacheVolume, "space", lambda self: Space(10_000_000, 1_000_000, 1000, 100))
    made = CacheVolume(tmp_path, "v1")
    adopt(made, "lake")
    return made


@pytest.mark.parametrize(
    "needed",
    [
        Needed(),
        Needed(bytes=1_000_000, inodes=100),
        Needed(bytes=900_000, reserve_bytes=100_000, inodes=90, reserve_inodes=10),
    ],
)
def test_there_is_room(volume: CacheVolume, needed: Needed) -> None:
    check_room(begin_attempt(volume, PLACE, 1), needed)


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (Needed(bytes=1_000_001), "too full: 1.0 MB are left, and this fill takes 1.0 MB"),
        (Needed(bytes=900_001, reserve_bytes=100_000), "of which 100.0 kB are kept free"),
        (Needed(bytes=1, inodes=101), "short of inodes: 100 are left, and this fill is 101 files and directories"),
        (Needed(bytes=1, inodes=91, reserve_inodes=10), "of which 10 are kept free"),
    ],
)
def test_there_is_none(volume: CacheVolume, needed: Needed, said: str) -> None:
    with pytest.raises(NoRoomYet, match=said) as raised:
        check_room(begin_attempt(volume, PLACE, 1), needed)
    assert "continues by itself" in (raised.value.hint or "")


def test_a_file_system_without_a_limit_on_inodes(volume: CacheVolume, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CacheVolume, "space", lambda self: Space(10, 10))
    check_room(begin_attempt(volume, PLACE, 1), Needed(bytes=10, inodes=10**9))


def test_what_an_earlier_attempt_has_left_is_room(volume: CacheVolume) -> None:
    attempt = interrupted(volume)
    left_bytes, left_inodes = left_by(attempt.older)
    assert left_bytes >= 50_000 and left_inodes == 3, "two files and their directory; not the one with a name elsewhere"
    check_room(attempt, Needed(bytes=1_000_000 + left_bytes, inodes=100 + left_inodes))
    with pytest.raises(NoRoomYet):
        check_room(attempt, Needed(bytes=1_000_001 + left_bytes))


class Disk:
    """A disk that others write to, at a time that passes when it is told to."""

    def __init__(self, volume: CacheVolume, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free_bytes, self.free_inodes, self.seconds = 1_000_000, 100, 0.0
        monkeypatch.setattr(CacheVolume, "space", lambda _: Space(10_000_000, self.free_bytes, 1000, self.free_inodes))


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ({"free_bytes": 50_000}, "of which 100.0 kB are kept free, and this fill takes 900.0 kB"),
        ({"free_bytes": 1_000_000, "free_inodes": 5}, "short of inodes: .* of which 10 are kept free"),
    ],
)
def test_a_fill_ends_when_others_take_its_room(
    volume: CacheVolume, monkeypatch: pytest.MonkeyPatch, taken: dict[str, int], said: str
) -> None:
    disk = Disk(volume, monkeypatch)
    attempt = begin_attempt(volume, PLACE, 1)
    attempt.tree.mkdir()
    told: list[Moved] = []
    needed = Needed(bytes=900_000, reserve_bytes=100_000, inodes=90, reserve_inodes=10)
    watch = RoomWatch(attempt, needed, told.append, clock=lambda: disk.seconds)
    disk.free_bytes, disk.free_inodes = 100_000, 10
    disk.seconds = 2
    watch(Moved())
    for name, value in taken.items():
        setattr(disk, name, value)
    watch(Moved())
    disk.seconds = 4
    with pytest.raises(NoRoomYet, match=said):
        watch(Moved())
    assert len(told) == 3


def test_what_a_fill_has_written_itself_is_no_shortage(volume: CacheVolume, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(volume, monkeypatch)
    attempt = begin_attempt(volume, PLACE, 1)
    attempt.tree.mkdir()
    (attempt.tree / "large").write_bytes(b"1" * 950_000)  # more than was promised, as blocks may be
    watch = RoomWatch(attempt, Needed(bytes=900_000, reserve_bytes=100_000), lambda _: None, clock=lambda: disk.seconds)
    disk.free_bytes, disk.seconds = 60_000, 2
    watch(Moved())


def interrupted(volume: CacheVolume) -> FillAttempt:
    """The second attempt at a commit whose first ended with three files, one of them linked from a published one."""
    first = begin_attempt(volume, PLACE, 1)
    first.tree.mkdir()
    (first.tree / "one").write_bytes(b"1" * 50_000)
    (first.tree / "two").write_bytes(b"2")
    elsewhere = volume.root / "elsewhere"
    elsewhere.write_bytes(b"3" * 50_000)
    (first.tree / "three").hardlink_to(elsewhere)
    return begin_attempt(volume, PLACE, 2)
