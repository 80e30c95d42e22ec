"""The server is killed in the middle of a run: the run goes on to its right end, and each step has run once."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from millpond.api.listener import bind
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.flow_server import HERE, ended, file_of, get, save, start, states, steps

# Steps write outside of their own folders, so that a second execution would show; `go` lets those that wait go on.
FLOW = """schema: millpond.flow/1
name: killed
params: {notes: {type: str}, width: {type: int}, wait: {type: bool, default: true}}
steps:
  list: {command: [python, list.py], code: ./steps, params: {n: "${params.width}"}, outputs: {items: {type: list}}}
  work:
    command: [sh, work.sh, "${params.notes}", "${each.item}", "${params.wait}"]
    code: ./steps
    each: {item: "${steps.list.outputs.items}"}
    outputs: {out: {type: directory}}
  join:
    command: [sh, join.sh, "${params.notes}"]
    code: ./steps
    inputs: {all: "${steps.work[*].outputs.out}"}
    outputs: {all: {type: file}}
publish:
  - {output: "${steps.join.outputs.all}", to: killed-result}
"""
LIST = """
import json, os
count = json.load(open(os.environ["MILL_PARAMS"]))["n"]
json.dump({"items": list(range(count))}, open(os.environ["MILL_VALUES"], "w"))
"""
WORK = """
echo $2 >> $1/begun-$2
while [ $3 = true ] && [ ! -e $1/go ]; do sleep 0.05; done
echo $2 > $MILL_OUTPUT/out/number
echo $2 >> $1/done-$2
"""
JOIN = """
cd $MILL_INPUT_ALL
cat $(ls | sort -n | sed 's,$,/number,') > $MILL_OUTPUT/all
echo x >> $1/joined
"""
FILES = {"steps/list.py": LIST, "steps/work.sh": WORK, "steps/join.sh": JOIN}


class Killed:
    """One data directory and port, and whatever server lives there at the moment."""

    def __init__(self, root: Path, notes: Path, stack: ExitStack) -> None:
        self.root, self.notes, self._stack = root, notes, stack
        with bind("127.0.0.1", 0) as free:
            self._port = str(free.getsockname()[1])
        self.up = self.start()
        with self.up.client() as client:
            save(client, FLOW, FILES)

    def start(self) -> MillUp:
        self.up = self._stack.enter_context(mill_up(self.root / "data", "--port", self._port))
        return self.up

    def kill(self) -> None:
        self.up.kill()
        self.start()

    def client(self) -> httpx.Client:
        return self._stack.enter_context(self.up.client())

    def check(self, run: str, folder: Path, width: int) -> None:
        client = self.client()
        found = ended(client, run)
        assert found["state"] == "succeeded", found
        assert states(found) == {"list": "succeeded", "join": "succeeded"} | {
            f"work[{number}]": "succeeded" for number in range(width)
        }
        for number in range(width):
            assert (folder / f"begun-{number}").read_text() == f"{number}\n", "begun once"
            assert (folder / f"done-{number}").read_text() == f"{number}\n"
        assert (folder / "joined").read_text() == "x\n"
        text = "".join(f"{number}\n" for number in range(width))
        assert file_of(client, steps(found)["join"]["outputs"]["all"]) == text
        number = found["number"]
        jobs = client.get("/jobs", params={"limit": 200}).json()["items"]
        names = sorted(job["name"] for job in jobs if job["name"].startswith(f"killed-{number}-"))
        assert names == sorted([f"killed-{number}-list", f"killed-{number}-join"] + [
            f"killed-{number}-work-{one}" for one in range(width)
        ])  # fmt: skip


@pytest.mark.timeout(180)
def test_the_server_is_killed_in_the_middle_of_a_fan_out(tmp_path: Path, open_path: Path) -> None:
    with ExitStack() as stack:
        killed = Killed(tmp_path, open_path, stack)
        run = start(killed.client(), "killed", params={"notes": str(open_path), "width": 3})
        wait_until(lambda: list(open_path.glob("begun-*")), within=60, what="the fan-out to begin")
        killed.kill()
        (open_path / "go").touch()
        killed.check(run, open_path, 3)
        result = killed.client().get(f"{HERE}/datasets/killed-result/commits/main/file", params={"path": "all"})
        assert result.text == "0\n1\n2\n"


@pytest.fixture
def seed() -> Iterator[int]:
    """Printed with a failure, so that the same storm can be raised again."""
    number = int(os.environ.get("MILL_TEST_SEED") or random.randrange(1 << 32))
    print(f"MILL_TEST_SEED={number}")
    yield number


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_storm_of_kills(tmp_path: Path, open_path: Path, seed: int) -> None:
    """Killed at random moments of runs: between deciding and starting, while jobs end, while publishing."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        killed = Killed(tmp_path, open_path, stack)
        for number in range(12):
            folder = open_path / str(number)
            folder.mkdir()
            folder.chmod(0o777)
            body = {"params": {"notes": str(folder), "width": 8, "wait": False}, "remember": False}
            run = start(killed.client(), "killed", **body)
            for _ in range(3):
                time.sleep(chance.uniform(0.0, 1.2))  # the moment is the point: it waits for nothing
                if get(killed.client(), run)["ended_at"] is None:
                    killed.kill()
            killed.check(run, folder, 8)
