"""Streams to jobs where client and agent talk to two servers of one database."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.db.engine import Database
from millpond.services.deps import Deps
from millpond.services.jobs import tunnel_calls
from millpond.services.jobs.tunnels import COME_SECONDS, Tunnels, port_wanted
from millpond.settings import Settings
from millpond.testing.builders_work import add_agent
from millpond.testing.clock import FakeClock
from millpond.testing.daemons import free_port
from millpond.testing.postgres import Postgres
from millpond.testing.server import making_deps
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until

HERE, THERE = "http://one.test", "http://two.test"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[Deps, Deps]]:
    settings = Settings(data_dir=tmp_path, advertised_url=HERE)
    with making_deps(settings, clock=FakeClock()) as first:
        other = Database(settings.database)
        first = replace(first, address=HERE)
        second = replace(
            first, db=other, tunnels=Tunnels(), address=THERE, settings=replace(settings, advertised_url=THERE)
        )
        yield first, second
        other.close()


def test_the_agent_of_another_server_is_told_where_to_come(servers: tuple[Deps, Deps]) -> None:
    first, second = servers
    agent = add_agent(first.db).agent

    def told(deps: Deps) -> list[str | None]:
        with deps.db.read() as tx:
            return [one.server for one in tunnel_calls.waiting_for(deps, tx, agent)]

    async def call() -> None:
        tunnel_calls.call(first, first.tunnels.open(agent.id, port_wanted("p1", 8888)))

    asyncio.run(call())
    assert told(first) == [None], "here it is waited for"
    assert told(second) == [HERE]
    assert isinstance(first.clock, FakeClock)
    first.clock.advance(COME_SECONDS)
    assert told(second) == [], "nobody waits any longer"


@pytest.mark.long
def test_a_command_beside_a_job_through_the_other_server(postgres: Postgres, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_bytes(b64encode(bytes(32)))
    with postgres.database() as url:
        shared = ("--db", url, "--lake", (tmp_path / "lake").as_uri(), "--secret-key-file", str(key))
        one_port, two_port = str(free_port()), str(free_port())
        one = ("--port", one_port, "--advertised-url", f"http://127.0.0.1:{one_port}")
        two = ("--port", two_port, "--advertised-url", f"http://127.0.0.1:{two_port}", "--no-agent")
        home = tmp_path / "home"
        with mill_up(tmp_path / "one", *shared, *one, home=home) as first:
            _mill(first, home, "submit", "job", "--no-code", "--", "sleep", "600")
            wait_until(lambda: '"running"' in _mill(first, home, "get", "job", "--json"), within=60)
            with mill_up(tmp_path / "two", *shared, *two, home=home) as second:
                assert _mill(second, home, "exec", "job", "--", "echo", "reached") == "reached\n"
            _mill(first, home, "stop", "job")
            wait_until(lambda: '"cancelled"' in _mill(first, home, "get", "job", "--json"), within=60)


def _mill(server: MillUp, home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "millpond", *arguments]
    env = environment(home) | {"MILL_SERVER": server.url}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
