"""The server is killed during a search: no trial is lost, none runs twice, and the search comes to its right end."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.api.listener import bind
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.dying_server import DyingServer, dying_server

HERE = "/projects/default"
# Trials write outside of their own folders, so that a second execution would show; `go` lets those that wait go on.
TRIAL = """
import os, pathlib, sys, time
import millpond
folder, number, waits = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "wait"
with open(folder / ("begun-" + number), "a") as begun:
    begun.write("x")
with millpond.init() as run:
    run.log_metric("loss", float(number))
    while waits and not (folder / "go").exists():
        time.sleep(0.05)
"""


def a_search(command: list[str], trials: int) -> dict[str, Any]:
    return {
        "name": "killed",
        "job": {"command": command},
        "parameters": [{"name": "number", "values": list(range(trials))}],
        "method": "grid",
        "objectives": [{"metric": "loss"}],
        "parallel": 2,
    }


# Without an agent: jobs are submitted and wait, and the steps of a round come in one order --------------


class Waiting:
    """One data directory, whatever server lives on it, and at most one search that has not ended."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root, self._stack = root, stack
        self.start()

    def start(self) -> None:
        self.server: DyingServer = self._stack.enter_context(dying_server(self._root / "data"))
        headers = {"Authorization": f"Bearer {self.server.token}"}
        client = httpx.Client(base_url=f"{self.server.url}/api/v1", headers=headers, trust_env=False, timeout=30)
        self.client = self._stack.enter_context(client)

    def create(self) -> None:
        body = a_search(["true", "{number}"], 3)
        assert self.client.post(f"{HERE}/searches", json=body).status_code == 201

    def has_submitted(self) -> bool:
        return all(
            len(self.trials(search)) == 2 and all(one["job"] for one in self.trials(search)) for search in self.open
        )

    @property
    def open(self) -> list[str]:
        found = self.client.get("/searches", params={"state": "running"}).json()["items"]
        return [one["id"] for one in found]

    def trials(self, search: str) -> list[dict[str, Any]]:
        return list(self.client.get(f"{HERE}/searches/{search}/trials").json()["items"])

    def settle(self) -> None:
        """As many trials as may run, each with a job of its own; and no other job of the search."""
        if not self.open:  # it died before it knew of the search
            self.create()
        wait_until(self.has_submitted, what="both trials to be submitted")
        (search,) = self.open
        found = self.trials(search)
        assert [one["number"] for one in found] == [0, 1]
        runs = self.client.get("/runs", params={"filter": f"tags.search_id = '{search}'"}).json()["items"]
        assert sorted(one["job"] for one in runs) == sorted(one["job"] for one in found), "no job without its trial"
        assert len({one["job"] for one in found}) == 2
        self.client.post(f"{HERE}/searches/{search}/cancel")
        wait_until(lambda: not self._unfinished(search), what="its jobs to be stopped")

    def _unfinished(self, search: str) -> list[str]:
        return [one["job"] for one in self.trials(search) if one["job_state"] not in ("cancelled", "failed")]


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(600)
def test_at_every_step_from_the_question_to_the_jobs(tmp_path: Path, stride: int) -> None:
    with ExitStack() as stack:
        waiting = Waiting(tmp_path, stack)
        waiting.server.die_at(None)
        waiting.create()
        wait_until(waiting.has_submitted, what="both trials to be submitted")
        taken = waiting.server.die_at(None)
        waiting.settle()
        steps = [step for step in taken if any(one in step for one in ("searches.", "rounds.", "submit."))]
        assert len(steps) >= 8, taken
        for step in chosen(steps, stride):
            waiting.server.die_at(step)
            with suppress(httpx.TransportError):
                waiting.create()
            wait_until(waiting.server.is_dead, what=f"the end of the server at {step!r}")
            waiting.start()
            waiting.settle()


def chosen(steps: list[str], stride: int) -> list[str]:
    """Each so many-th, beginning at another one each time; printed with a failure."""
    some = steps[random.randrange(stride) :: stride]
    print(*some, sep="\n")
    return some


# With an agent: trials are real jobs ----------------------------------------------------------------


class Killed:
    """One data directory and port, and whatever server lives there at the moment."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root, self._stack = root, stack
        with bind("127.0.0.1", 0) as free:
            self._port = str(free.getsockname()[1])
        self.up = self.start()

    def start(self) -> MillUp:
        self.up = self._stack.enter_context(mill_up(self._root / "data", "--port", self._port))
        return self.up

    def kill(self) -> None:
        self.up.kill()
        self.start()

    def ask(self, path: str, **params: Any) -> Any:
        with self.up.client() as client:
            answer = client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def begin(self, folder: Path, trials: int, waits: str) -> str:
        command = [sys.executable, "-c", TRIAL, str(folder), "{number}", waits]
        with self.up.client() as client:
            made = client.post(f"{HERE}/searches", json=a_search(command, trials))
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def check(self, search: str, folder: Path, trials: int) -> None:
        """It has ended well; each trial has begun once, has a job and a value, and there is no further job."""
        wait_until(lambda: self.ask(f"{HERE}/searches/{search}")["ended_at"], within=120, what="the end of the search")
        found = self.ask(f"{HERE}/searches/{search}")
        assert (found["state"], found["trials"], found["counts"]["succeeded"]) == ("completed", trials, trials), found
        assert [one["number"] for one in found["best"]] == [0]
        listed = self.ask(f"{HERE}/searches/{search}/trials")["items"]
        assert [one["values"] for one in listed] == [[float(number)] for number in range(trials)]
        assert {file.name: file.read_text() for file in folder.glob("begun-*")} == {
            f"begun-{number}": "x" for number in range(trials)
        }
        runs = self.ask("/runs", filter=f"tags.search_id = '{search}'", limit=200)["items"]
        assert sorted(one["job"] for one in runs) == sorted(one["job"] for one in listed)


@pytest.mark.timeout(240)
def test_the_server_is_killed_while_trials_run(tmp_path: Path, open_path: Path) -> None:
    with ExitStack() as stack:
        killed = Killed(tmp_path, stack)
        search = killed.begin(open_path, 4, "wait")
        wait_until(lambda: list(open_path.glob("begun-*")), what="the first trial to begin")
        killed.kill()
        (open_path / "go").touch()
        killed.check(search, open_path, 4)


@pytest.fixture
def seed() -> Iterator[int]:
    """Printed with a failure, so that the same storm can be raised again."""
    number = int(os.environ.get("MILL_TEST_SEED") or random.randrange(1 << 32))
    print(f"MILL_TEST_SEED={number}")
    yield number


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_storm_of_kills(tmp_path: Path, open_path: Path, seed: int) -> None:
    """Killed at random moments: while trials are chosen, submitted, started, ended, and while the search ends."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        killed = Killed(tmp_path, stack)
        for number in range(8):
            folder = open_path / str(number)
            folder.mkdir()
            folder.chmod(0o777)
            search = killed.begin(folder, 8, "go on")
            for _ in range(3):
                time.sleep(chance.uniform(0.0, 1.5))  # the moment is the point: it waits for nothing
                if killed.ask(f"{HERE}/searches/{search}")["ended_at"] is None:
                    killed.kill()
            killed.check(search, folder, 8)
