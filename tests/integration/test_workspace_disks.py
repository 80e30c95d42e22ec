"""Workspaces on real file systems: made by each way, written to by a project's account, frozen, restored, removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from millpond.errors import DiskFull, NotFound
from millpond.lake.nursery import Nursery
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt
from millpond.volumes.workspaces.create import NewWorkspace, begin_making, create_workspace, mount_workspace, set_size
from millpond.volumes.workspaces.layout import (
    LEFTOVERS,
    SnapshotDocument,
    WorkspaceDocument,
    WorkspaceFolder,
    read_snapshot,
    read_workspace,
    workspaces,
)
from millpond.volumes.workspaces.overlay import LAYERS, unmount
from millpond.volumes.workspaces.probe import probe_workspaces
from millpond.volumes.workspaces.removal import find_leftovers, remove_made, remove_snapshot, remove_workspace
from millpond.volumes.workspaces.restore import restore_workspace
from millpond.volumes.workspaces.snapshots import NewSnapshot, SnapshotView, take_snapshot
from millpond.volumes.workspaces.space import measure_workspace
from millpond.volumes.workspaces.stillness import Stillness
from millpond.volumes.workspaces.trees import Origin, TreeTools, of_commit, of_snapshot, of_workspace
from tests.integration.loop_disks import loop_disk

ACCOUNT = 75_123
PLACE = CommitPlace("p1", "d1", "c" * 64)


@contextmanager
def still() -> Iterator[Stillness]:
    yield Stillness("frozen")


@dataclass
class Site:
    """A volume with a cached commit, and what is done with workspaces there."""

    tools: TreeTools

    @property
    def volume(self) -> CacheVolume:
        return self.tools.volume

    def folder(self, name: str) -> WorkspaceFolder:
        return WorkspaceFolder(self.volume, "p1", name)

    def create(self, name: str, origin: Origin, how: str, size: int = 0) -> WorkspaceDocument:
        folder = self.folder(name)
        making = begin_making(self.tools, folder, 1)
        return create_workspace(self.tools, folder, making, origin, NewWorkspace(1, how, size_bytes=size))

    def snapshot(self, name: str, number: int) -> SnapshotDocument:
        return take_snapshot(self.tools, self.folder(name), NewSnapshot(number, f"s{number}"), still)

    def restore(self, name: str, origin: Origin, attempt: int) -> WorkspaceDocument:
        folder = self.folder(name)
        return restore_workspace(self.tools, folder, begin_making(self.tools, folder, attempt), origin, attempt)

    def commit(self) -> Origin:
        return of_commit(self.volume, PLACE)

    def read(self, name: str) -> dict[str, bytes]:
        return read_files(self.folder(name).tree)

    def as_account(self, name: str, change: Callable[[], None]) -> None:
        """Do something in the tree as the account of the project has it."""
        process = os.fork()
        if process == 0:
            try:
                os.chdir(self.folder(name).tree)
                if self.tools.uid is not None:
                    os.setgroups([])
                    os.setresgid(ACCOUNT, ACCOUNT, ACCOUNT)
                    os.setresuid(ACCOUNT, ACCOUNT, ACCOUNT)
                change()
            except BaseException as error:
                os.write(2, f"{error!r}\n".encode())
                os._exit(1)
            os._exit(0)
        assert os.waitpid(process, 0)[1] == 0

    def assert_tidy(self) -> None:
        """Nothing of an attempt is left."""
        home = self.volume.root / "workspaces"
        looked = [path for depth in ("*/*", "*/*/*", "*/*/snapshots/*") for path in home.glob(depth)]
        assert [path for path in looked if path.name.startswith(LEFTOVERS)] == []


def read_files(tree: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(tree)): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


CONTENT = {"a/one": b"1", "a/two": b"22" * 5000, "a.txt": b"text", "b/c/deep": b"", "link": b"a/one"}


def make_site(root: Path, *, uid: int | None) -> Site:
    volume = CacheVolume(root=root, id="v1")
    if not volume.identity.exists():
        adopt(volume, "lake")
    for name, data in CONTENT.items():
        path = volume.commit(PLACE) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "link":
            path.symlink_to(os.fsdecode(data))
        else:
            path.write_bytes(data)
            path.chmod(0o555 if name == "a/one" else 0o444)
            os.utime(path, (10**9, 10**9))
    features = probe_workspaces(volume, uid=uid)
    return Site(TreeTools(volume, Nursery(), uid, subvolumes=features.subvolumes, overlay=features.overlay))


@pytest.fixture(params=["plain", "xfs", "btrfs", "ext4"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "plain":
        made = make_site(tmp_path, uid=None)
        yield replace_tools(made, subvolumes=False, overlay=False)
        made.tools.nursery.close()
        return
    with loop_disk(request.param, tmp_path) as place:
        made = make_site(place, uid=ACCOUNT)
        yield made
        made.tools.nursery.close()


def replace_tools(site: Site, **changes: object) -> Site:
    return Site(replace(site.tools, **changes))  # type: ignore[arg-type]


def change() -> None:
    """What a job does: write to files that came from the commit, make, rename and remove some."""
    with open("a/one", "ab") as file:
        file.write(b"!")
    Path("new").write_bytes(b"new")
    Path("a.txt").unlink()
    Path("b").rename("moved")
    os.mkfifo("pipe")
    Path("a/two").chmod(0o600)


def write_mine() -> None:
    Path("mine").write_bytes(b"mine")


CHANGED = {"a/one": b"1!", "a/two": b"22" * 5000, "new": b"new", "moved/c/deep": b"", "link": b"a/one"}


@pytest.mark.parametrize("how", ["reflink", "copy", "overlay"])
def test_a_workspace_from_a_commit_is_written_to_frozen_restored_cloned_and_removed(site: Site, how: str) -> None:
    made = site.create("w1", site.commit(), how)
    assert site.read("w1") == CONTENT
    assert made.how in (how, "reflink", "copy") and bool(made.reason) == (made.how != how)
    site.snapshot("w1", 1)
    site.as_account("w1", change)
    assert site.read("w1") == CHANGED
    assert read_files(site.volume.commit(PLACE)) == CONTENT, "what it was made from stays"
    site.snapshot("w1", 2)
    for number, content in ((1, CONTENT), (2, CHANGED)):
        with SnapshotView(site.folder("w1"), number) as tree:
            assert read_files(tree) == content
        for way in ("reflink", "overlay"):
            clone = f"{way}{number}"
            site.create(clone, of_snapshot(site.folder("w1"), number), way)
            assert site.read(clone) == content
            site.as_account(clone, write_mine)
    assert site.read("w1") == CHANGED

    restored = site.restore("w1", of_snapshot(site.folder("w1"), 1), 5)
    assert site.read("w1") == CONTENT and restored.restored == 5
    site.as_account("w1", change)
    assert site.restore("w1", of_snapshot(site.folder("w1"), 1), 5).restored == 5
    assert site.read("w1") == CHANGED, "the same attempt restores once"
    site.restore("w1", site.commit(), 6)
    assert site.read("w1") == CONTENT
    site.as_account("w1", change)
    site.create("live", of_workspace(site.folder("w1")), "reflink")
    assert site.read("live") == CHANGED
    site.assert_tidy()

    remove_snapshot(site.folder("w1"), 1, site.tools.nursery)
    assert read_snapshot(site.folder("w1"), 1) is None
    assert remove_workspace(site.folder("w1"), site.tools.nursery)
    assert site.read("overlay1") == {**CONTENT, "mine": b"mine"}, "layers that others need stay"
    assert site.read("overlay2") == {**CHANGED, "mine": b"mine"}
    for folder in list(workspaces(site.volume)):
        assert remove_workspace(folder, site.tools.nursery)
    site.assert_tidy()
    layers = site.volume.root / "workspaces" / "p1" / LAYERS
    assert not layers.is_dir() or os.listdir(layers) == []


def test_permissions_times_and_owners_go_along(site: Site) -> None:
    site.create("w1", site.commit(), "reflink")
    tree = site.folder("w1").tree
    owner = os.geteuid() if site.tools.uid is None else ACCOUNT
    modes = {"a/one": 0o755, "a/two": 0o644, "a": 0o755, ".": 0o755}
    for name, mode in modes.items():
        found = (tree / name).stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid) == (mode, owner), name
    (tree / "a" / "two").chmod(0o640)
    os.utime(tree / "a" / "two", (5, 5))
    os.utime(tree / "a", (7, 7))
    site.snapshot("w1", 1)
    site.create("w2", of_snapshot(site.folder("w1"), 1), "reflink")
    found = (site.folder("w2").tree / "a" / "two").stat()
    assert (stat.S_IMODE(found.st_mode), found.st_mtime, found.st_uid) == (0o640, 5, owner)
    assert (site.folder("w2").tree / "a").stat().st_mtime == 7


def test_a_fresh_clone_has_next_to_nothing_of_its_own(site: Site) -> None:
    commit = site.volume.commit(PLACE)
    (commit / "large").write_bytes(os.urandom(4 << 20))
    os.sync()
    site.create("w1", site.commit(), "reflink")
    os.sync()
    found = measure_workspace(site.folder("w1"), site.tools.nursery)
    assert found is not None and found.size >= 4 << 20
    if site.tools.uid is None or "ext4" in str(site.volume.root):
        assert found.unique_bytes >= 4 << 20
        return
    assert found.unique_bytes < 1 << 20 and found.shared_bytes >= 4 << 20
    with (site.folder("w1").tree / "large").open("r+b") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    written = measure_workspace(site.folder("w1"), site.tools.nursery)
    assert written is not None and 1 << 20 <= written.unique_bytes < 2 << 20


def test_what_killed_attempts_leave_is_removed(site: Site) -> None:
    site.create("w1", site.commit(), "reflink")
    left = begin_making(site.tools, site.folder("w2"), 3)
    (left / "tree").mkdir()
    (left / "tree" / "file").write_bytes(b"half")
    half = site.folder("w1").snapshots / "7"
    half.mkdir()
    (half / "file").write_bytes(b"half")
    for path in find_leftovers(site.volume):
        remove_made(path, site.tools.nursery)
    assert not left.exists() and not half.exists()
    assert [folder.id for folder in workspaces(site.volume)] == ["w1"]
    assert site.read("w1") == CONTENT


def test_the_next_attempt_takes_the_place_of_one_that_was_interrupted(site: Site) -> None:
    first = begin_making(site.tools, site.folder("w1"), 1)
    second = begin_making(site.tools, site.folder("w1"), 2)
    assert not first.exists() and second.is_dir()
    with pytest.raises(Exception, match="missing"):
        create_workspace(site.tools, site.folder("w1"), first, site.commit(), NewWorkspace(1, "reflink"))
    assert read_workspace(site.folder("w1")) is None
    made = create_workspace(site.tools, site.folder("w1"), second, site.commit(), NewWorkspace(2, "reflink"))
    assert made.attempt == 2 and site.read("w1") == CONTENT


def test_what_is_not_there_is_told(site: Site) -> None:
    site.create("w1", Origin(), "empty")
    assert site.read("w1") == {}
    with pytest.raises(NotFound, match="Snapshot 4 of workspace w1"):
        of_snapshot(site.folder("w1"), 4)
    with pytest.raises(NotFound, match="not cached"):
        of_commit(site.volume, CommitPlace("p1", "d1", "e" * 64))
    with pytest.raises(NotFound, match="Workspace gone is not"):
        of_workspace(site.folder("gone"))


def test_deep_and_odd_names_are_cloned(site: Site) -> None:
    site.create("w1", Origin(), "empty")
    here = Path.cwd()
    os.chdir(site.folder("w1").tree)
    try:
        for _ in range(30):
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
        Path("bottom").write_bytes(b"deep")
    finally:
        os.chdir(here)
    tree = os.fsencode(site.folder("w1").tree)
    for name in (b"\xff\xfe", b"new\nline", b"-rf", b" "):
        with open(tree + b"/" + name, "wb") as file:
            file.write(name)
    site.snapshot("w1", 1)
    site.create("w2", of_snapshot(site.folder("w1"), 1), "reflink")
    names = set(os.listdir(os.fsencode(site.folder("w2").tree)))
    assert names == {b"\xff\xfe", b"new\nline", b"-rf", b" ", b"d" * 200}
    assert remove_workspace(site.folder("w1"), site.tools.nursery)
    site.assert_tidy()


@pytest.mark.parametrize("kind", ["xfs", "btrfs", "ext4"])
def test_a_full_disk_is_told_and_nothing_is_lost(kind: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "large").write_bytes(os.urandom(16 << 20))
    large = Origin("elsewhere", path=elsewhere)
    with loop_disk(kind, tmp_path) as place:
        site = make_site(place, uid=ACCOUNT)
        site.create("w1", site.commit(), "reflink")
        site.snapshot("w1", 1)
        tree = site.folder("w1").tree
        for number in range(3_000):
            (tree / f"{number}").write_bytes(b"small")
        with pytest.raises(OSError, match="No space left"), (tree / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(os.urandom(64 << 10))
        kept = site.read("w1")
        with pytest.raises(DiskFull, match="is full"):
            site.create("w2", large, "copy")
        with pytest.raises(DiskFull, match="is full"):
            site.restore("w1", large, 3)
        if kind != "btrfs":  # which has the room for one more subvolume
            with pytest.raises(DiskFull, match="is full"):
                site.snapshot("w1", 2)
            assert read_snapshot(site.folder("w1"), 2) is None
        assert site.read("w1") == kept
        site.assert_tidy()
        (tree / "filler").unlink()
        os.sync()
        site.restore("w1", of_snapshot(site.folder("w1"), 1), 4)
        assert site.read("w1") == CONTENT
        site.tools.nursery.close()


def test_btrfs_keeps_a_workspace_within_its_size(tmp_path: Path) -> None:
    with loop_disk("btrfs", tmp_path, 400 << 20) as place:
        site = make_site(place, uid=ACCOUNT)
        assert probe_workspaces(site.volume, uid=ACCOUNT).quota == "qgroup"
        made = site.create("w1", Origin(), "empty", size=20 << 20)
        file = site.folder("w1").tree / "file"
        with pytest.raises(OSError, match="quota exceeded"):
            file.write_bytes(os.urandom(40 << 20))
        file.unlink()
        os.sync()
        set_size(site.folder("w1"), made, 100 << 20)
        file.write_bytes(os.urandom(40 << 20))
        site.tools.nursery.close()


def test_an_overlay_is_mounted_again_and_lets_nobody_in_before(tmp_path: Path) -> None:
    with loop_disk("ext4", tmp_path) as place:
        site = make_site(place, uid=ACCOUNT)
        made = site.create("w1", site.commit(), "overlay")
        assert made.how == "overlay" and not made.reason
        site.as_account("w1", change)
        folder = site.folder("w1")
        unmount(folder.tree)
        assert stat.S_IMODE(folder.tree.stat().st_mode) == 0 and os.listdir(folder.tree) == []
        mount_workspace(folder, made)
        assert site.read("w1") == CHANGED
        found = measure_workspace(folder, site.tools.nursery)
        assert found is not None and found.unique_bytes < 1 << 20
        site.tools.nursery.close()


def test_a_layer_is_cloned_as_a_layer_or_as_a_plain_tree(tmp_path: Path) -> None:
    with loop_disk("ext4", tmp_path) as place:
        site = make_site(place, uid=ACCOUNT)
        site.create("w1", site.commit(), "overlay")
        site.as_account("w1", change)
        site.snapshot("w1", 1)
        origins = {"live": of_workspace(site.folder("w1")), "frozen": of_snapshot(site.folder("w1"), 1)}
        for name, origin in origins.items():
            for how in ("overlay", "copy"):
                made = site.create(f"{name}-{how}", origin, how)
                assert (made.how, made.reason) == (how, "")
                assert site.read(f"{name}-{how}") == CHANGED
        assert remove_workspace(site.folder("w1"), site.tools.nursery)
        assert site.read("live-copy") == CHANGED
        site.tools.nursery.close()


def test_many_files_by_several_processes(tmp_path: Path) -> None:
    site = make_site(tmp_path, uid=None)
    commit = site.volume.commit(PLACE)
    for number in range(4_000):
        path = commit / f"m{number % 7}" / f"{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"%d" % number)
    site.create("w1", site.commit(), "reflink")
    assert len(site.read("w1")) == 4_000 + len(CONTENT)
    assert remove_workspace(site.folder("w1"), site.tools.nursery)
    site.assert_tidy()
    site.tools.nursery.close()
