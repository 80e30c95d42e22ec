"""kill -9 while workspaces are frozen, cloned, restored, kept and removed: nothing is torn, nothing is left over."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from millpond.blobs.location import open_store
from millpond.lake.push import push_directory
from millpond.testing.lake import DirectLake
from millpond.testing.waiting import wait_until
from millpond.volumes.volume import CacheVolume, adopt
from millpond.volumes.workspaces.create import NewWorkspace, begin_making, create_workspace, mount_workspace
from millpond.volumes.workspaces.layout import WorkspaceFolder, snapshot_numbers, workspaces
from millpond.volumes.workspaces.removal import find_leftovers, remove_made, remove_snapshot, remove_workspace
from millpond.volumes.workspaces.restore import finish_restore
from millpond.volumes.workspaces.snapshots import NewSnapshot, SnapshotView, take_snapshot
from millpond.volumes.workspaces.stillness import nobody_writes
from millpond.volumes.workspaces.trees import Origin, of_commit
from tests.integration.loop_disks import loop_disk
from tests.integration.test_workspace_disks import PLACE, read_files
from tests.integration.workspace_loop import keep, open_tools

SCRIPT = Path(__file__).with_name("workspace_loop.py")
ACCOUNT = 75_123
FILES = 120


def content(generation: int) -> dict[str, bytes]:
    return {f"{number % 7}/{number}": b"%d" % generation * (number % 50) for number in range(FILES)}


def write(tree: Path, generation: int) -> None:
    for name, data in content(generation).items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(data)


class Killed:
    """A volume with a workspace of two generations, and a process that works on it until it is killed."""

    def __init__(self, root: Path, place: Path, how: str) -> None:
        volume = CacheVolume(place, "v1")
        adopt(volume, "lake")
        self.how, self.location, self.tools = how, (root / "lake").as_uri(), open_tools(str(place), ACCOUNT)
        self.lake = DirectLake(open_store(self.location))
        self.base = WorkspaceFolder(volume, "p1", "base")
        origin = Origin()
        if how == "overlay":
            write(volume.commit(PLACE), 1)
            origin = of_commit(volume, PLACE)
        create_workspace(self.tools, self.base, begin_making(self.tools, self.base, 1), origin, NewWorkspace(1, how))
        for number in (1, 2):
            write(self.base.tree, number)
            take_snapshot(self.tools, self.base, NewSnapshot(number, f"s{number}"), nobody_writes)
        self.generations = [content(1), content(2)]

    def run_and_kill(self, attempt: int, seconds: float) -> None:
        command = [sys.executable, str(SCRIPT), str(self.tools.volume.root), self.location, self.how]
        command += [str(ACCOUNT), str(attempt)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout and process.stderr
            assert process.stdout.readline() == b"started\n", process.stderr.read()
            # The moment of the kill is what is random here; nothing is waited for.
            time.sleep(seconds)
            assert process.poll() is None, process.stderr.read().decode()
            process.send_signal(signal.SIGKILL)

    def look_after(self) -> None:
        """What the next agent does first."""
        for folder in workspaces(self.tools.volume):
            document = finish_restore(folder)
            assert document is not None
            mount_workspace(folder, document)
        for path in find_leftovers(self.tools.volume):
            # Processes of the one that was killed may still finish what they had in hand.
            wait_until(partial(remove_made, path, self.tools.nursery), what="an empty directory", within=20)

    def check(self) -> None:
        project = self.base.project
        names = {path.name for path in project.iterdir() if path.name != ".layers"}
        assert names == {folder.id for folder in workspaces(self.tools.volume)}, "nothing is left over"
        for folder in workspaces(self.tools.volume):
            assert read_files(folder.tree) in self.generations, f"{folder.id} is torn"
            numbers = snapshot_numbers(folder)
            files = {f"{number}{end}" for number in numbers for end in ("", ".json", ".files")} | {".views"}
            assert set(os.listdir(folder.snapshots)) <= files
            for number in numbers:
                with SnapshotView(folder, number) as tree:
                    assert read_files(tree) in self.generations, f"snapshot {number} of {folder.id} is torn"

    def check_kept(self) -> None:
        """What a keep that was interrupted has remembered is true."""
        for number in snapshot_numbers(self.base):
            with SnapshotView(self.base, number) as tree:
                expected = push_directory(tree, DirectLake()).tree.root
            assert keep(self.base, number, self.lake) == expected

    def end(self) -> None:
        for number in snapshot_numbers(self.base):
            remove_snapshot(self.base, number, self.tools.nursery)
        for folder in list(workspaces(self.tools.volume)):
            assert remove_workspace(folder, self.tools.nursery)
        left = [path for path in self.base.project.iterdir() if path.name != ".layers" or os.listdir(path)]
        assert left == []
        self.tools.nursery.close()


def kill_and_look(root: Path, kind: str, how: str, times: int) -> None:
    chance = random.Random(time.time())
    with loop_disk(kind, root) as place:
        killed = Killed(root, place, how)
        for number in range(times):
            killed.run_and_kill(1000 + number * 1000, chance.uniform(0.0, 0.5))
            killed.look_after()
            killed.check()
        killed.check_kept()
        killed.end()


KINDS = [("xfs", "reflink"), ("btrfs", "subvolume"), ("ext4", "overlay")]


@pytest.mark.parametrize(("kind", "how"), KINDS)
def test_three_kills(kind: str, how: str, tmp_path: Path) -> None:
    kill_and_look(tmp_path, kind, how, 3)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "how"), [*KINDS, ("ext4", "copy"), ("xfs", "overlay")])
def test_sixty_kills(kind: str, how: str, tmp_path: Path) -> None:
    kill_and_look(tmp_path, kind, how, 60)
