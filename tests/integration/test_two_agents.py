"""Two real agents on one directory: one fills, and whatever becomes of it, the other goes on from what is on disk."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from millpond.model.dataset import Commit
from millpond.testing.builders_data import a_commit
from millpond.testing.server import running_server
from millpond.testing.waiting import wait_until
from tests.integration.cache_site import CacheSite, is_whole

NAMES = ("first", "second")


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CacheSite]:
    monkeypatch.setattr("millpond.services.computes.presence.CONNECTED", timedelta(seconds=4))
    monkeypatch.setattr("millpond.services.computes.presence.WORD", timedelta(seconds=2.5))
    with running_server(tmp_path / "data") as server, ExitStack() as stack:
        yield CacheSite(tmp_path, server, stack, NAMES)


def many(seed: int, count: int = 1500) -> dict[str, bytes]:
    chance = random.Random(seed)
    return {f"{n % 30:02d}/{n:05d}": chance.randbytes(chance.randrange(1, 8000)) for n in range(count)}


def stop_in_the_middle(agents: CacheSite, commit: Commit, how: Callable[[subprocess.Popen[bytes]], None]) -> str:
    """Ask for the commit, and do `how` to the agent that fills it while it does; its name."""
    cached = agents.cache(commit)
    wait_until(lambda: len(agents.attempts()) > 20 or agents.state(cached) == "ready", what="a fill that began")
    name = agents.filler()
    how(agents.processes[name])
    return name


@pytest.mark.long
def test_a_stopped_agent_is_replaced_and_changes_nothing_when_it_wakes_up(agents: CacheSite) -> None:
    files = many(1)
    commit = a_commit(agents.server.deps, files)
    stopped = stop_in_the_middle(agents, commit, lambda process: process.send_signal(signal.SIGSTOP))
    cached = agents.cache(commit)
    agents.wait_for(cached, "ready")
    wait_until(lambda: agents.filler() != stopped or agents.state(cached) == "ready", within=60)
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
def test_a_killed_agent_is_replaced_and_its_work_taken_over(agents: CacheSite) -> None:
    files = many(2)
    commit = a_commit(agents.server.deps, files)
    killed = stop_in_the_middle(agents, commit, lambda process: process.kill())
    agents.wait_for(agents.cache(commit), "ready")
    assert is_whole(agents.path(commit), files)
    agents.assert_tidy()
    agents.start(killed)
    agents.clear(agents.cache(commit))
    wait_until(lambda: not list(agents.volume.glob("commits/*/*/*")), what="the eviction", within=60)
    agents.assert_tidy()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_storm_of_stops_and_kills(agents: CacheSite) -> None:
    chance = random.Random()
    files = {seed: many(seed, 600) for seed in range(3)}
    commits = {seed: a_commit(agents.server.deps, files[seed]) for seed in files}
    for _ in range(10):
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
    for seed, commit in commits.items():
        agents.wait_for(agents.cache(commit), "ready")
        assert is_whole(agents.path(commit), files[seed])
    agents.assert_tidy()
    assert len(list(agents.volume.glob("commits/*/*/*"))) == len(commits)
