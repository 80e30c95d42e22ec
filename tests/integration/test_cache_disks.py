"""Disks that run full, turn read-only, vanish, are exchanged or lose their power: told in words, and got over."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from millpond.errors import DiskFull, MillError, VolumeProblem
from millpond.lake.push import push_directory
from millpond.lake.transfer import Moved
from millpond.testing.builders_data import a_commit
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from millpond.volumes.attempt import begin_attempt, empty_trash, set_aside_attempts
from millpond.volumes.bases import BaseTree
from millpond.volumes.disk_space import LOOK_SECONDS, Needed, NoRoomYet, RoomWatch, check_room
from millpond.volumes.evict import evict
from millpond.volumes.fill import fill
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt, check
from tests.integration.cache_site import CacheSite

FIRST, SECOND = (CommitPlace("project", "dataset", letter * 64) for letter in "ab")


class Disk:
    """A file system of its own in a file, and trees to put there."""

    def __init__(self, root: Path, make: list[str], size: int) -> None:
        lacking = [tool for tool in (make[0], "mount", "umount", "xfs_io") if shutil.which(tool) is None]
        if os.geteuid() != 0 or lacking:
            pytest.skip(f"needs root and {', '.join(lacking) or 'mounts'}")
        self.root, self.image, self.path = root, root / "disk.img", root / "disk"
        self.path.mkdir()
        with self.image.open("wb") as file:
            file.truncate(size)
        subprocess.run([*make, self.image], check=True, capture_output=True)
        try:
            self.mount()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this machine mounts no loop devices: {error.stderr.decode(errors='replace').strip()}")
        self.lake = DirectLake()
        self.volume = CacheVolume(root=self.path, id="v1")
        adopt(self.volume, "lake")

    def mount(self, *options: str) -> None:
        command = ["mount", "-o", ",".join(["loop", *options]), str(self.image), str(self.path)]
        subprocess.run(command, check=True, capture_output=True)

    def unmount(self) -> None:
        subprocess.run(["umount", self.path], check=True, capture_output=True)

    def remount(self, option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", self.path], check=True, capture_output=True)

    def cut_power(self) -> None:
        """Nothing that is not on the disk by now will ever be. What is there is found by mounting it anew.

        A copy of it: jobs of other tests that began meanwhile have this file system in views of their own, and as long
        as one of them has it, the same disk would be mounted as it is, without its power.
        """
        subprocess.run(["xfs_io", "-x", "-c", "shutdown", self.path], check=True, capture_output=True)
        self.unmount()
        found = self.image.with_suffix(self.image.suffix + "-")
        subprocess.run(["cp", "--sparse=always", self.image, found], check=True)
        self.image = found
        self.mount("nouuid")

    def push(self, name: str, things: list[Thing]) -> str:
        write_things(self.root / name, things)
        tree = push_directory(self.root / name, self.lake).tree.root
        self.lake.accept(tree)
        return tree

    def fill(self, place: CommitPlace, tree: str, *bases: BaseTree) -> None:
        fill(begin_attempt(self.volume, place, 1), tree, self.lake, bases=bases)

    def assert_tidy(self) -> None:
        set_aside_attempts(self.volume, wanted=())
        assert empty_trash(self.volume)
        assert os.listdir(self.volume.attempts) == []


def files(count: int, size: int, seed: int = 1) -> list[Thing]:
    chance = random.Random(seed)
    return [Thing(f"{n % 10}/{n:05d}".encode(), chance.randbytes(size)) for n in range(count)]


def in_order(things: list[Thing]) -> list[Thing]:
    return sorted(things, key=lambda thing: thing.path)


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path, ["mkfs.xfs", "-q"], 320 << 20)  # the smallest XFS there is
    yield disk
    if disk.path.is_mount():
        disk.unmount()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    """8 MB, and 256 inodes."""
    disk = Disk(tmp_path, ["mkfs.ext4", "-q", "-N", "256", "-O", "^has_journal"], 8 << 20)
    yield disk
    if disk.path.is_mount():
        disk.unmount()


def test_what_was_ready_is_whole_after_a_power_cut(xfs: Disk) -> None:
    before = files(300, 5000)
    after = [*before[:297], *files(3, 6000, seed=2)[:0], *(Thing(f"new/{n}".encode(), b"n" * 7000) for n in range(3))]
    trees = [xfs.push("one", before), xfs.push("two", after)]
    xfs.fill(FIRST, trees[0])
    xfs.fill(SECOND, trees[1], BaseTree(xfs.volume.commit(FIRST), trees[0], xfs.lake))
    xfs.cut_power()
    check(xfs.volume)
    assert read_things(xfs.volume.commit(FIRST)) == in_order(before)
    assert read_things(xfs.volume.commit(SECOND)) == in_order(after)
    assert evict(begin_attempt(xfs.volume, FIRST, 2))
    xfs.cut_power()
    assert xfs.volume.published() == [SECOND], "evicted is evicted"
    assert read_things(xfs.volume.commit(SECOND)) == in_order(after), "what they shared has stayed"
    xfs.assert_tidy()


def test_power_is_cut_while_something_is_filled(xfs: Disk) -> None:
    things = files(200, 5000)
    tree = xfs.push("one", things)

    class Interrupted(DirectLake):
        def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
            raise ConnectionResetError("the power went")

    half = begin_attempt(xfs.volume, FIRST, 1)
    with pytest.raises(MillError):
        fill(half, tree, Interrupted(xfs.lake.store))
    xfs.cut_power()
    assert xfs.volume.published() == []
    xfs.fill(FIRST, tree)
    assert read_things(xfs.volume.commit(FIRST)) == in_order(things)
    xfs.assert_tidy()


def test_other_programs_come_into_the_reserve_in_the_middle(small: Disk) -> None:
    things = files(20, 50_000)
    tree = small.push("one", things)
    attempt = begin_attempt(small.volume, FIRST, 1)
    needed = Needed(bytes=1_300_000, inodes=40, reserve_bytes=1_000_000)
    check_room(attempt, needed)
    foreign = small.path / "foreign"

    def others_write(moved: Moved) -> None:
        if not foreign.exists():
            foreign.write_bytes(bytes(small.volume.space().free_bytes - 500_000))

    ticking = itertools.count(0.0, LOOK_SECONDS).__next__
    with pytest.raises(NoRoomYet, match=r"of which 1\.0 MB are kept free, and this fill takes 1\.3 MB"):
        fill(attempt, tree, small.lake, progress=RoomWatch(attempt, needed, others_write, clock=ticking))
    assert small.volume.published() == []
    small.assert_tidy()
    foreign.unlink()
    small.fill(FIRST, tree)
    assert read_things(small.volume.commit(FIRST)) == in_order(things)


def test_a_disk_that_runs_full_in_the_middle(small: Disk) -> None:
    fits, too_much = small.push("fits", files(20, 50_000)), small.push("much", files(150, 80_000, seed=2))
    small.fill(FIRST, fits)
    free = small.volume.space().free_bytes
    with pytest.raises(DiskFull, match="is full"):
        small.fill(SECOND, too_much)
    assert small.volume.published() == [FIRST]
    check(small.volume)
    small.assert_tidy()
    assert small.volume.space().free_bytes >= free - 64_000, "nothing of it is left"
    assert read_things(small.volume.commit(FIRST)) == in_order(files(20, 50_000))


def test_inodes_run_out_before_bytes(small: Disk) -> None:
    many = small.push("many", files(400, 10))
    space = small.volume.space()
    assert space.total_inodes == 256 and space.free_inodes and space.free_inodes > 200
    with pytest.raises(DiskFull, match="inodes"):
        small.fill(FIRST, many)
    assert small.volume.published() == []
    small.assert_tidy()
    few = small.push("few", files(100, 10))
    small.fill(FIRST, few)
    small.fill(SECOND, few, BaseTree(small.volume.commit(FIRST), few, small.lake))
    assert read_things(small.volume.commit(SECOND)) == in_order(files(100, 10)), "linked, it needs a few inodes only"


def test_who_makes_room_on_a_full_disk_is_believed_at_once(small: Disk) -> None:
    shutil.rmtree(small.volume.identity.parent)  # it becomes the volume of a real agent
    foreign = small.path / "lost+found/foreign"
    foreign.write_bytes(bytes(5_000_000))
    with running_server(small.root / "data") as server, ExitStack() as stack:
        site = CacheSite(small.root, server, stack, ["one"], small.path)
        commit = a_commit(server.deps, {"large": bytes(4_000_000)})
        server.admin.patch("/volumes/shared", json={"capacity_bytes": 7_000_000, "reserve_bytes": 0})
        asked = {"dataset": f"xray@{commit.id}", "volume": "shared"}
        assert "other files fill the disk" in server.admin.post("/caches", json=asked).text
        foreign.unlink()
        wait_until(lambda: site.row()["disk_free_bytes"] > 4_000_000, what="room", within=5)
        site.wait_for(site.cache(commit), "ready")


def test_a_large_file_that_was_evicted_is_free_at_once(xfs: Disk) -> None:
    tree = xfs.push("one", [Thing(b"large", os.urandom(50_000_000))])
    xfs.fill(FIRST, tree)
    free = xfs.volume.space().free_bytes
    assert evict(begin_attempt(xfs.volume, FIRST, 2))
    assert xfs.volume.space().free_bytes > free + 49_000_000


def test_what_is_cached_can_be_evicted_from_a_full_disk(small: Disk) -> None:
    """Filled to the last inode and byte by somebody else: there is no room even for an attempt's directory."""
    tree = small.push("one", files(20, 50_000))
    small.fill(FIRST, tree)
    foreign = small.path / "foreign"
    foreign.mkdir()
    with pytest.raises(OSError):
        for number in range(1000):
            (foreign / str(number)).write_bytes(b"x" * 1000)
    with pytest.raises(OSError):
        (foreign / "directory").mkdir()
    assert evict(begin_attempt(small.volume, FIRST, 2))
    assert small.volume.published() == []
    assert evict(begin_attempt(small.volume, FIRST, 3))
    small.assert_tidy()


def test_read_only_and_back(small: Disk) -> None:
    tree = small.push("one", files(10, 100))
    small.remount("ro")
    with pytest.raises(VolumeProblem, match="read-only"):
        check(small.volume)
    with pytest.raises(VolumeProblem, match="read-only"):
        small.fill(FIRST, tree)
    small.remount("rw")
    check(small.volume)
    small.fill(FIRST, tree)
    small.assert_tidy()


def test_an_unmounted_volume_and_another_one_in_its_place(small: Disk, tmp_path: Path) -> None:
    tree = small.push("one", files(10, 100))
    attempt = begin_attempt(small.volume, FIRST, 1)
    small.unmount()
    for broken in (lambda: check(small.volume), lambda: fill(attempt, tree, small.lake)):
        with pytest.raises(VolumeProblem, match=r"identity file is missing|missing or changed"):
            broken()
    with pytest.raises(VolumeProblem):
        small.fill(FIRST, tree)
    assert os.listdir(small.path) == [], "nothing is written below a missing mount"
    other = CacheVolume(root=small.path, id="v2")
    adopt(other, "lake")
    with pytest.raises(VolumeProblem, match="another volume"):
        check(small.volume)
    shutil.rmtree(small.path / ".millpond")
    small.mount()
    check(small.volume)
    small.fill(FIRST, tree)
    small.assert_tidy()
