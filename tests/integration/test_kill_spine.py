"""Server and agent are killed at random moments of a sync, a fill and running jobs; nothing is lost, doubled or torn.

Every round submits short jobs, asks for the newest version of a folder to be cached, submits a job that reads it and
puts the next version into the lake. Somewhere in between somebody is killed. Jobs write outside their own directory,
so a second start would show.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from millpond.api.listener import bind
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until

# Who goes when: everybody within three, and mostly the agent, which is back sooner.
VICTIMS = ("agent", "server", "both", "agent", "agent")
EVERYBODY = 3
LINES = [str(number) for number in range(1, 9)]
# $0: the file outside; $1: how many files the commit has.
SCRIPT = """
echo start >> "$0"
for i in 1 2 3 4 5 6 7 8; do echo $i; seq ${i}000 ${i}999; echo $i >> "$0"; sleep 0.15; done
[ $(find "$MILL_DATA_SPINE" -type f | wc -l) = $1 ] || exit 9
cp "$0" "$MILL_OUTPUT/lines"
echo end >> "$0"
"""
# What it writes to its log, byte for byte: much at once, and then nothing for a moment.
LOG = "".join(f"{line}\n" + "".join(f"{line}{number:03d}\n" for number in range(1000)) for line in LINES)
# A short job: some of those submitted together wait, run and end when somebody is killed.
SHORT_SCRIPT = 'echo "start $MILL_PLACEMENT" >> "$0"; seq 100; sleep 0.2; echo "end $MILL_PLACEMENT" >> "$0"'
SHORT_LOG = "".join(f"{number}\n" for number in range(1, 101))
ROOM_FOR_A_JOB = 120.0


class Spine:
    """One data directory and port, whatever server lives there at the moment, and what must be true of it."""

    def __init__(self, root: Path, out: Path, stack: ExitStack, seed: int) -> None:
        self.root, self.out, self._stack, self.chance = root, out, stack, random.Random(seed)
        with bind("127.0.0.1", 0) as free:
            self._port = str(free.getsockname()[1])
        self.folder = root / "spine"
        self.folder.mkdir()
        self.versions: dict[str, dict[str, bytes]] = {}
        self.jobs: dict[str, Path] = {}
        self.short_jobs: dict[str, Path] = {}
        self.up = self.start()

    def start(self) -> MillUp:
        self.up = self._stack.enter_context(mill_up(self.root / "data", "--port", self._port))
        return self.up

    # What people do

    def change_folder(self, round_number: int) -> None:
        """Some files stay, some change, some are large enough to be cut."""
        for number in range(12):
            (self.folder / f"{number}.bin").write_bytes(self.chance.randbytes(120_000))
        (self.folder / f"new-{round_number}.bin").write_bytes(self.chance.randbytes(1_500_000))

    def begin_sync(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "millpond", "data", "sync", "--json"]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment(self.up.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end_sync(self, sync: subprocess.Popen[str]) -> None:
        """It waited for the server, or says that it is away; run again, it always works."""
        out, err = sync.communicate(timeout=90)
        if sync.returncode != 0:
            assert sync.returncode == 6, err
            again = self.begin_sync()
            out, err = again.communicate(timeout=90)
            assert again.returncode == 0, err
        self.versions[json.loads(out)["id"]] = content(self.folder)

    def submit(self) -> None:
        """A job on the newest version, and that version asked for on the volume."""
        newest = list(self.versions)[-1]
        file = self.out / str(len(self.jobs))
        command = ["sh", "-c", SCRIPT, str(file), str(len(self.versions[newest]))]
        body = {"command": command, "inputs": [f"spine@{newest}"]}
        with self.up.client() as client:
            assert client.post("/caches", json={"dataset": f"spine@{newest}"}).status_code == 201
            job = client.post("/projects/default/jobs", json=body)
        assert job.status_code == 201, job.text
        self.jobs[job.json()["id"]] = file

    def submit_short(self, count: int) -> None:
        with self.up.client() as client:
            for _ in range(count):
                file = self.out / f"short-{len(self.short_jobs)}"
                body = {"command": ["sh", "-c", SHORT_SCRIPT, str(file)]}
                job = client.post("/projects/default/jobs", json=body)
                assert job.status_code == 201, job.text
                self.short_jobs[job.json()["id"]] = file

    # What happens to them

    def kill(self, victim: str) -> None:
        server = psutil.Process(self.up.process.pid)
        agents = server.children()
        if victim != "agent":
            self.up.kill()
        if victim != "server":
            for agent in agents:
                with suppress(psutil.NoSuchProcess):
                    agent.kill()
        self.check_trees()
        if victim != "agent":
            self.start()

    # What must be true

    def check_trees(self) -> None:
        """Whatever is published is whole, also at this very moment."""
        for tree in (self.root / "data/volume/commits").glob("*/*/*"):
            if tree.name in self.versions:
                assert content(tree) == self.versions[tree.name], "a published tree is torn"

    def check_jobs(self) -> None:
        with self.up.client() as client:
            for job, file in self.jobs.items():
                ended = wait_until(lambda job=job: finished(client, job), within=ROOM_FOR_A_JOB, what="the job's end")
                assert ended["state"] == "succeeded", ended
                assert file.read_text().split() == ["start", *LINES, "end"], "started once, and went through"
                log = client.get(f"/projects/default/jobs/{job}/log")
                assert log.text == LOG, "the log is whole, and nothing is there twice"
                assert log.headers["X-Mill-Complete"] == "1"
                path = f"/projects/default/datasets/.outputs/commits/{ended['output_commit']}/file"
                assert client.get(path, params={"path": "lines"}).text.split() == ["start", *LINES]

    def check_short_jobs(self) -> None:
        with self.up.client() as client:
            for job, file in self.short_jobs.items():
                ended = wait_until(lambda job=job: finished(client, job), within=ROOM_FOR_A_JOB, what="the job's end")
                assert ended["state"] == "succeeded", ended
                (begun, first), (done, last) = (line.split() for line in file.read_text().splitlines())
                assert (begun, done, first) == ("start", "end", last), "one placement, and nobody beside it"
                assert client.get(f"/projects/default/jobs/{job}/log").text == SHORT_LOG

    def check_history(self) -> None:
        with self.up.client() as client:
            commits = client.get("/projects/default/datasets/spine/commits").json()["items"]
        assert [commit["id"] for commit in commits] == list(reversed(self.versions)), "none lost, none made twice"
        copy = self.root / "copy"
        command = [sys.executable, "-m", "millpond", "data", "clone", "spine", str(copy)]
        subprocess.run(command, env=environment(self.up.home), check=True, capture_output=True)
        assert content(copy) == content(self.folder)


def finished(client: httpx.Client, job: str) -> dict[str, Any] | None:
    found: dict[str, Any] = client.get(f"/projects/default/jobs/{job}").json()
    return found if found["ended_at"] else None


def content(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".mill" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def storm(root: Path, out: Path, *, kills: int, short_jobs: int, seed: int) -> None:
    with ExitStack() as stack:
        spine = Spine(root, out, stack, seed)
        init = [sys.executable, "-m", "millpond", "data", "init"]
        subprocess.run(init, cwd=spine.folder, env=environment(spine.up.home), check=True, capture_output=True)
        spine.change_folder(0)
        spine.end_sync(spine.begin_sync())
        for number in range(1, kills + 1):
            spine.submit_short(-(-short_jobs // kills))
            spine.submit()
            spine.change_folder(number)
            sync = spine.begin_sync()
            time.sleep(spine.chance.uniform(0.0, 1.5))  # the moment is the point: it waits for nothing
            spine.kill(VICTIMS[(number - 1) % len(VICTIMS)])
            spine.end_sync(sync)
        spine.check_jobs()
        spine.check_short_jobs()
        spine.check_history()
        spine.check_trees()
        volume = spine.up.data_dir / "volume"
        wait_until(lambda: not os.listdir(volume / ".millpond/attempts"), what="the volume to be tidy")


@pytest.fixture
def seed() -> Iterator[int]:
    """Printed with a failure, so that the same storm can be raised again."""
    number = int(os.environ.get("MILL_TEST_SEED") or random.randrange(1 << 32))
    print(f"MILL_TEST_SEED={number}")
    yield number


@pytest.mark.timeout(300)
def test_everybody_is_killed_once(tmp_path: Path, open_path: Path, seed: int) -> None:
    storm(tmp_path, open_path, kills=EVERYBODY, short_jobs=30, seed=seed)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_fifty_kills(tmp_path: Path, open_path: Path, seed: int) -> None:
    storm(tmp_path, open_path, kills=50, short_jobs=100, seed=seed)
