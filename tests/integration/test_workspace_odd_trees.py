"""Trees as jobs leave them, through every verb: links, holes, special files, modes and owners of all kinds."""

from __future__ import annotations

import os
import socket
import stat
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.lake import DirectLake
from millpond.volumes.workspaces.layout import workspaces
from millpond.volumes.workspaces.removal import remove_workspace
from millpond.volumes.workspaces.snapshots import SnapshotView
from millpond.volumes.workspaces.trees import of_snapshot, of_workspace
from tests.integration.loop_disks import loop_disk
from tests.integration.test_workspace_disks import ACCOUNT, make_site
from tests.integration.workspace_loop import keep

NAMES = ("übung", "日本語", "e\u0301", "\u00e9", "new\nline", "tab\t", " ", "-rf", "a" * 255, "'\"$(x)*", "c:d,e\\f")
HOLE = 32 << 20


def build(tree: Path) -> None:
    """As a job that runs as root may leave its home."""
    (tree / "plain").write_bytes(b"plain")
    (tree / "directory").mkdir()
    os.link(tree / "plain", tree / "directory" / "hard link")
    with (tree / "sparse").open("wb") as file:
        file.truncate(2 * HOLE)
        file.seek(HOLE)
        file.write(b"between holes")
    (tree / "empty").touch()
    (tree / "empty directory").mkdir()
    os.mkfifo(tree / "fifo")
    for name in NAMES:
        (tree / name).write_text(name)
    with open(os.fsencode(tree) + b"/\xff\xfe", "wb") as file:
        file.write(b"no text")
    for number, target in enumerate(("/etc/passwd", "nowhere", "../../..", "x" * 1000)):
        (tree / f"link {number}").symlink_to(target)
    os.utime(tree / "plain", ns=(1, 2))
    os.setxattr(tree / "plain", "user.note", b"kept")
    for name, mode in (("setuid", 0o4755), ("unreadable", 0o000), ("read only", 0o444)):
        (tree / name).write_text(name)
        (tree / name).chmod(mode)
    os.chown(tree / "read only", 1234, 4321)
    for name, mode in (("sticky", 0o1777), ("setgid", 0o2775), ("closed", 0o000), ("not writable", 0o555)):
        (tree / name).mkdir()
        (tree / name / "file").write_text(name)
        (tree / name).chmod(mode)
    deep = tree
    for number in range(40):
        deep /= f"level {number}"
        deep.mkdir()
    (deep / "bottom").touch()


def add_socket(tree: Path) -> None:
    """It belongs to a process: snapshots are without it."""
    here = Path.cwd()
    os.chdir(tree)  # its path would be too long
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    os.chdir(here)


def seen(tree: Path) -> dict[bytes, tuple[Any, ...]]:
    """All that matters of everything in it."""
    found: dict[bytes, tuple[Any, ...]] = {}
    names: defaultdict[int, set[bytes]] = defaultdict(set)
    waiting = [os.fsencode(tree)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                about: tuple[Any, ...] = (oct(status.st_mode), status.st_uid, status.st_gid)
                if stat.S_ISREG(status.st_mode):
                    with open(entry.path, "rb") as file:
                        about += (file.read(), status.st_mtime_ns, status.st_blocks * 512 < HOLE)
                    about += tuple((name, os.getxattr(entry.path, name)) for name in mine(entry.path))
                elif entry.is_symlink():
                    about += (os.readlink(entry.path),)  # noqa: PTH115 - it may be no text
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    about += (status.st_mtime_ns,)
                path = os.path.relpath(entry.path, os.fsencode(tree))
                found[path] = about
                if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                    names[status.st_ino].add(path)
    for together in names.values():
        found |= {path: (*found[path], together) for path in together}
    return found


def mine(path: bytes) -> list[str]:
    return sorted(name for name in os.listxattr(path) if name.startswith("user."))


@pytest.mark.parametrize(("kind", "how"), [("xfs", "reflink"), ("btrfs", "subvolume"), ("ext4", "overlay")])
def test_whatever_a_job_leaves_goes_along(kind: str, how: str, tmp_path: Path) -> None:
    with loop_disk(kind, tmp_path) as place:
        site = make_site(place, uid=ACCOUNT)
        site.create("w", site.commit(), how if how == "overlay" else "reflink")
        folder = site.folder("w")
        build(folder.tree)
        expected = seen(folder.tree)
        add_socket(folder.tree)
        taken = site.snapshot("w", 1)
        assert taken.bytes < HOLE, "holes are nothing"
        site.create("frozen", of_snapshot(folder, 1), how)
        site.create("live", of_workspace(folder), how)
        for name in ("setuid", "plain"):
            (folder.tree / name).unlink()
        site.restore("w", of_snapshot(folder, 1), 2)
        with SnapshotView(folder, 1) as tree:
            trees = {"snapshot": tree, **{name: site.folder(name).tree for name in ("w", "frozen", "live")}}
            assert seen(folder.tree)[b"plain"][-1] == {b"plain", b"directory/hard link"}
            for name, one in trees.items():
                found = seen(one)
                found.pop(b"socket", None)  # file systems that freeze whole trees have it
                assert found == expected, name
        assert keep(folder, 1, DirectLake())
        for one in list(workspaces(site.volume)):
            assert remove_workspace(one, site.tools.nursery)
        site.assert_tidy()
        site.tools.nursery.close()
