"""Two real agents on one directory: one fills, and whatever becomes of it, the other goes on from what is on disk."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millpond.db import caches, sights, volumes
from millpond.model.dataset import Commit
from millpond.testing.builders_data import a_commit
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until

NAMES = ("first", "second")


class TwoAgents:
    def __init__(self, root: Path, server: RunningServer, stack: ExitStack) -> None:
        self.server, self.volume = server, root / "volume"
        self.volume.mkdir()
        self.ids: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._root, self._stack = root, stack
        for name in NAMES:
            added = add_agent(server.deps.db, name, now=server.deps.clock.now(), seen=False)
            token = root / f"{name}.token"
            token.touch(0o600)
            token.write_text(added.token)
            self.ids[added.agent.id] = name
            self.start(name)
        self._ask("POST", "/volumes", json={"name": "shared", "path": str(self.volume), "site": "local"})
        wait_until(lambda: self.row()["capacity_bytes"] > 0, what="the volume's first look", within=20)
        wait_until(lambda: len(list(self._sights())) == 2, what="both agents' looks", within=20)

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", name]
        command += ["--token-file", str(self._root / f"{name}.token"), "--state-dir", str(self._root / name)]
        log = self._stack.enter_context((self._root / f"{name}.log").open("ab"))
        self.processes[name] = self._stack.enter_context(subprocess.Popen(command, stderr=log))
        self._stack.callback(self.end, self.processes[name])

    @staticmethod
    def end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    def row(self) -> dict[str, Any]:
        return self._ask("GET", "/volumes/shared")

    def filler(self) -> str:
        with self.server.deps.db.read() as tx:
            found = volumes.find(tx, "shared")
        assert found is not None
        return self.ids.get(found.filler_id or "", "")

    def cache(self, commit: Commit) -> str:
        asked = {"dataset": f"xray@{commit.id}", "volume": "shared"}
        return str(self._ask("POST", "/caches", json=asked)["cached"]["id"])

    def state(self, cached_id: str) -> str:
        with self.server.deps.db.read() as tx:
            found = caches.get(tx, cached_id)
        return found.cached.state.value if found else "gone"

    def wait_for(self, cached_id: str, state: str) -> None:
        wait_until(lambda: self.state(cached_id) == state, what=f"{cached_id} {state}", within=40)

    def clear(self, cached_id: str) -> None:
        self.server.admin.delete(f"/caches/{cached_id}")

    def path(self, commit: Commit) -> Path:
        (found,) = self.volume.glob(f"commits/*/*/{commit.id}")
        return found

    def attempts(self) -> list[Path]:
        return sorted(self.volume.glob(".millpond/attempts/*/tree/*/*"))

    def assert_tidy(self) -> None:
        """Nothing is left of any attempt, and nothing is published but what should be."""
        own = self.volume / ".millpond"
        wait_until(lambda: not any([*own.glob("attempts/*"), *own.glob("trash/*")]), what="tidiness", within=60)

    def _sights(self) -> Iterator[str]:
        with self.server.deps.db.read() as tx:
            for agent_id, _ in sights.all_sights(tx):
                yield agent_id

    def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self.server.admin.request(method, path, **options)
        return dict(answer.json()) if answer.content else {}


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoAgents]:
    monkeypatch.setattr("millpond.services.presence.CONNECTED", timedelta(seconds=4))
    monkeypatch.setattr("millpond.services.presence.WORD", timedelta(seconds=2.5))
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        yield TwoAgents(tmp_path, server, stack)


def many(seed: int, count: int = 1500) -> dict[str, bytes]:
    chance = random.Random(seed)
    return {f"{n % 30:02d}/{n:05d}": chance.randbytes(chance.randrange(1, 8000)) for n in range(count)}


def is_whole(path: Path, files: dict[str, bytes]) -> bool:
    found = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
    return found == files


def stop_in_the_middle(agents: TwoAgents, commit: Commit, how: Callable[[subprocess.Popen[bytes]], None]) -> str:
    """Ask for the commit, and do `how` to the agent that fills it while it does; its name."""
    cached = agents.cache(commit)
    wait_until(lambda: len(agents.attempts()) > 20 or agents.state(cached) == "ready", what="a fill that began")
    name = agents.filler()
    how(agents.processes[name])
    return name


def test_a_stopped_agent_is_replaced_and_changes_nothing_when_it_wakes_up(agents: TwoAgents) -> None:
    files = many(1)
    commit = a_commit(agents.server.deps, files)
    stopped = stop_in_the_middle(agents, commit, lambda process: process.send_signal(signal.SIGSTOP))
    cached = agents.cache(commit)
    agents.wait_for(cached, "ready")
    wait_until(lambda: agents.filler() != stopped or agents.state(cached) == "ready", within=20)
    assert is_whole(agents.path(commit), files)
    before = sorted((path.stat().st_ino, path.stat().st_mtime) for path in agents.path(commit).rglob("*"))
    agents.processes[stopped].send_signal(signal.SIGCONT)
    agents.assert_tidy()
    assert sorted((path.stat().st_ino, path.stat().st_mtime) for path in agents.path(commit).rglob("*")) == before
    assert agents.state(cached) == "ready"
    agents.clear(cached)
    agents.wait_for(cached, "gone")
    again = agents.cache(commit)
    agents.wait_for(again, "ready")
    assert is_whole(agents.path(commit), files)
    agents.assert_tidy()


@pytest.mark.long
def test_a_killed_agent_is_replaced_and_its_work_taken_over(agents: TwoAgents) -> None:
    files = many(2)
    commit = a_commit(agents.server.deps, files)
    killed = stop_in_the_middle(agents, commit, lambda process: process.kill())
    agents.wait_for(agents.cache(commit), "ready")
    assert is_whole(agents.path(commit), files)
    agents.assert_tidy()
    agents.start(killed)
    agents.clear(agents.cache(commit))
    wait_until(lambda: not list(agents.volume.glob("commits/*/*/*")), what="the eviction", within=20)
    agents.assert_tidy()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_storm_of_stops_and_kills(agents: TwoAgents) -> None:
    chance = random.Random()
    files = {seed: many(seed, 600) for seed in range(3)}
    commits = {seed: a_commit(agents.server.deps, files[seed]) for seed in files}
    for _ in range(15):
        seed = chance.choice(list(commits))
        if chance.random() < 0.5:
            stopped = stop_in_the_middle(agents, commits[seed], lambda process: process.send_signal(signal.SIGSTOP))
            agents.wait_for(agents.cache(commits[seed]), "ready")
            agents.processes[stopped].send_signal(signal.SIGCONT)
        else:
            killed = stop_in_the_middle(agents, commits[seed], lambda process: process.kill())
            agents.wait_for(agents.cache(commits[seed]), "ready")
            agents.start(killed)
        assert is_whole(agents.path(commits[seed]), files[seed])
        agents.clear(agents.cache(commits[seed]))
    agents.assert_tidy()
    for path in agents.volume.glob("commits/*/*/*"):
        (seed,) = [seed for seed, commit in commits.items() if commit.id == path.name]
        assert is_whole(path, files[seed])
    assert os.listdir(agents.volume / ".millpond/attempts") == []
