"""The power goes right after "committed": database and lake are on a disk that forgets whatever was not synced.

A loop-mounted XFS is shut down without flushing its log: what a machine finds after a power cut.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millpond.api.listener import bind
from millpond.client.clone import clone
from millpond.testing.up import mill_up
from tests.integration.real_lake import api_of, history, mill, tree

_TOOLS = ("mkfs.xfs", "xfs_io", "mount", "umount")


@dataclass
class Disk:
    """A file system in a file, mounted at `path`."""

    image: Path
    path: Path

    def mount(self, *options: str) -> None:
        command = ["mount", "-o", ",".join(["loop", *options]), self.image, self.path]
        subprocess.run(command, check=True, capture_output=True)

    def unmount(self) -> None:
        subprocess.run(["umount", self.path], check=True, capture_output=True)

    def cut_power(self) -> None:
        """Nothing that is not on the disk by now will ever be."""
        subprocess.run(["xfs_io", "-x", "-c", "shutdown", self.path], check=True, capture_output=True)

    def find_again(self) -> None:
        """Mount what is there: a copy of it.

        Jobs of other tests that began meanwhile have this file system in views of their own, and as long as one of them
        has it, the same disk would be mounted as it is, without its power.
        """
        self.unmount()
        found = self.image.with_suffix(".found")
        subprocess.run(["cp", "--sparse=always", self.image, found], check=True)
        self.image = found
        self.mount("nouuid")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or lacking:
        pytest.skip(f"a power cut needs root and xfsprogs (lacking: {', '.join(lacking) or 'root'})")
    disk = Disk(tmp_path / "disk.img", tmp_path / "disk")
    disk.path.mkdir()
    with disk.image.open("wb") as file:
        file.truncate(320 << 20)  # the smallest XFS there is
    subprocess.run(["mkfs.xfs", "-q", disk.image], check=True, capture_output=True)
    try:
        disk.mount()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine mounts no loop devices: {error.stderr.decode(errors='replace').strip()}")
    yield disk
    if disk.path.is_mount():
        disk.unmount()


@pytest.mark.long
def test_what_was_committed_survives_a_power_cut(disk: Disk, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    with bind("127.0.0.1", 0) as free:
        options = ("--no-agent", "--port", str(free.getsockname()[1]))
    (folder / "large.bin").write_bytes(os.urandom(3_000_000))
    (folder / "sub" / "small.txt").write_text("small")
    with mill_up(disk.path / "data", *options, home=tmp_path / "home") as up:
        mill(up, folder, "data", "init")
        made = json.loads(mill(up, folder, "data", "sync", "--json"))["id"]
        disk.cut_power()
        up.kill()
    disk.find_again()
    with mill_up(disk.path / "data", *options, home=tmp_path / "home") as up, api_of(up) as api:
        assert history(api, "folder") == [made]
        clone(api, "default", "folder", "main", tmp_path / "copy")
        assert tree(tmp_path / "copy") == tree(folder)
        (folder / "more").write_text("life goes on")
        mill(up, folder, "data", "sync")
        assert history(api, "folder")[1:] == [made]
