"""What goes wrong around an agent: the server is killed or away, the network is cut, clocks differ, a disk is full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.agent.keeper.processes import marked
from millpond.testing.postgres import Postgres
from millpond.testing.proxies import Way, way_to
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.clocks import clock_library, clocks_set

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

TAKE_OVER_SECONDS = 15.0
VALIDITY_SECONDS = 60
# Says ten times a second that it runs, and in which placement.
TICKING = """
import os, sys, time
with open(sys.argv[1], "a") as file:
    for number in range(int(sys.argv[2])):
        print(os.environ["MILL_PLACEMENT"], time.clock_gettime(time.CLOCK_BOOTTIME), file=file, flush=True)
        print(number, flush=True)
        time.sleep(0.1)
"""


@contextmanager
def agent_through(
    way: Way, server: MillUp, root: Path, state: Path | None = None, *, node: str = "node"
) -> Iterator[None]:
    """An agent of the site `local` that knows the server by this way only."""
    with server.client() as client:
        client.post("/sites", json={"name": "local"})
        made = client.post("/join-tokens", json={"site": "local"})
        assert made.status_code == 201, made.text
    token = root / "token"
    token.write_text(made.json()["secret"])
    token.chmod(0o600)
    command = [sys.executable, "-m", "millpond", "agent", "--server", way.url, "--node", node]
    command += ["--token-file", str(token), "--state-dir", str(state or root / "state")]
    with open(root / "agent.log", "wb") as log, subprocess.Popen(command, stderr=log, env=environment(root)) as agent:
        try:
            yield
        finally:
            agent.kill()


def submit(client: httpx.Client, *command: str, **fields: Any) -> str:
    made = client.post("/projects/default/jobs", json={"command": list(command), **fields})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def ticking(file: Path, count: int) -> tuple[str, ...]:
    return (sys.executable, "-c", TICKING, str(file), str(count))


def wait_for(client: httpx.Client, job: str, state: str, within: float = 120) -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        seen: dict[str, Any] = client.get(f"/projects/default/jobs/{job}").json()
        return seen if seen["state"] == state else None

    return wait_until(found, within=within, what=f"{state} job")


def intervals(file: Path) -> list[tuple[float, float]]:
    """From when to when each placement ran, by the machine's own clock, in order."""
    ran: dict[str, list[float]] = {}
    for line in file.read_text().splitlines():
        placement, moment = line.split()
        ran.setdefault(placement, []).append(float(moment))
    return sorted((min(moments), max(moments)) for moments in ran.values())


def test_another_server_goes_on_when_the_one_that_planned_is_killed(
    postgres: Postgres, tmp_path: Path, open_path: Path
) -> None:
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_bytes(b64encode(bytes(32)))
    home, file = tmp_path / "home", open_path / "ticks"
    with postgres.database() as url:
        shared = ("--db", url, "--lake", (tmp_path / "lake").as_uri(), "--secret-key-file", str(key), "--no-agent")
        with (
            mill_up(tmp_path / "one", *shared, home=home) as one,
            mill_up(tmp_path / "two", *shared, home=home) as two,
            way_to(port_of(one)) as way,
            agent_through(way, one, tmp_path),
        ):
            with one.client() as client:
                running = submit(client, *ticking(file, 100))
                wait_for(client, running, "running")
                second = submit(client, "true", after=[running])
            one.kill()
            killed = time.monotonic()
            way.server_port = port_of(two)
            with two.client() as client:
                new = submit(client, "true")
                wait_for(client, new, "succeeded")
                took = time.monotonic() - killed
                print(f"taken over within {took:.1f} s")
                assert took < TAKE_OVER_SECONDS
                wait_for(client, second, "succeeded")
                log = client.get(f"/projects/default/jobs/{running}/log").text
            assert log.split() == [str(number) for number in range(100)]
            assert len(intervals(file)) == 1, "the running job never noticed"


def test_a_network_that_is_cut_and_comes_back(tmp_path: Path, open_path: Path) -> None:
    """For less than jobs are valid: they go on. For longer: they end, and run again, never twice at once."""
    options = ("--no-agent", "--placement-validity", f"{VALIDITY_SECONDS}s")
    short, long = open_path / "short", open_path / "long"
    with (
        mill_up(tmp_path / "data", *options) as server,
        way_to(port_of(server)) as way,
        agent_through(way, server, tmp_path),
        server.client() as client,
    ):
        job = submit(client, *ticking(short, 150))
        wait_for(client, job, "running")
        way.is_cut = True
        wait_until(lambda: short.read_text().count("\n") == 150, what="the job to end, of which nobody hears")
        way.is_cut = False
        ended = wait_for(client, job, "succeeded")
        assert ended["attempt"] == 1 and len(intervals(short)) == 1
        assert client.get(f"/projects/default/jobs/{job}/log").text.split() == [str(number) for number in range(150)]

        job = submit(client, *ticking(long, 1500))
        wait_for(client, job, "running")
        way.is_cut = True
        wait_for(client, job, "queued", within=300)
        way.is_cut = False
        wait_for(client, job, "running")
        client.post(f"/projects/default/jobs/{job}/stop")
        wait_for(client, job, "cancelled")
        (_, first_end), (second_begin, _) = intervals(long)
        assert first_end < second_begin


def test_a_server_that_is_away_for_longer_than_jobs_are_valid(tmp_path: Path, open_path: Path) -> None:
    """The keeper ends the job with nobody to tell it to; the server that comes back has it run once more, not twice."""
    options, file = ("--no-agent", "--placement-validity", "60s"), open_path / "ticks"
    with way_to(0) as way, mill_up(tmp_path / "data", *options) as server:
        way.server_port = port_of(server)
        with agent_through(way, server, tmp_path), server.client() as client:
            job = submit(client, *ticking(file, 3000))
            wait_for(client, job, "running")
            wait_until(lambda: file.exists() and intervals(file), what="its first word")
            placement = file.read_text().split()[0]
            server.kill()
            wait_until(lambda: not marked(placement), within=180, what="its keeper to end the job")
            ended = time.clock_gettime(time.CLOCK_BOOTTIME)
            with mill_up(tmp_path / "data", *options, home=server.home) as again, again.client() as client:
                way.server_port = port_of(again)
                wait_until(lambda: len(intervals(file)) == 2, within=180, what="the job to run again")
                client.post(f"/projects/default/jobs/{job}/stop")
                assert wait_for(client, job, "cancelled")["attempt"] == 2
                attempts = client.get(f"/projects/default/jobs/{job}/attempts").json()["items"]
    assert [one["ending"] for one in attempts] == ["expired", "stopped"]
    (_, first_end), (second_begin, _) = intervals(file)
    assert first_end < ended < second_begin


def test_an_agent_that_is_killed_with_its_keepers(tmp_path: Path, open_path: Path) -> None:
    """Whatever the command had started ends with them; the job runs again elsewhere, never twice at once."""
    options, file = ("--no-agent", "--placement-validity", "60s"), open_path / "ticks"
    below_a_shell = ("sh", "-c", '"$@"; echo', "sh", *ticking(file, 3000))
    with mill_up(tmp_path / "data", *options) as server, way_to(port_of(server)) as way, server.client() as client:
        (tmp_path / "one").mkdir()
        (tmp_path / "two").mkdir()
        with agent_through(way, server, tmp_path / "one"):
            job = submit(client, *below_a_shell)
            wait_for(client, job, "running")
            wait_until(lambda: file.exists() and intervals(file), what="its first word")
        (claim,) = (tmp_path / "one" / "state" / "placements").glob("*/claim")
        os.kill(json.loads(claim.read_text())["pid"], signal.SIGKILL)
        wait_until(lambda: not marked(claim.parent.name), what="the end of all that the command had started")
        ended = time.clock_gettime(time.CLOCK_BOOTTIME)
        with agent_through(way, server, tmp_path / "two", node="another"):
            wait_until(lambda: len(intervals(file)) == 2, within=180, what="the job to run again")
            client.post(f"/projects/default/jobs/{job}/stop")
            assert wait_for(client, job, "cancelled")["attempt"] == 2
    (_, first_end), (second_begin, _) = intervals(file)
    assert first_end < ended < second_begin


@pytest.mark.parametrize("agent_by", [3600, -3600])
def test_clocks_that_differ_by_an_hour_end_and_double_nothing(tmp_path: Path, open_path: Path, agent_by: int) -> None:
    """The agent's, and the server's from one start to the next."""
    set_clock = clock_library(tmp_path)
    file = open_path / "ticks"
    server_by = (0, 3600, -3600)
    with way_to(0) as way, ExitStack() as stack:
        job = ""
        for by in server_by:
            with clocks_set(set_clock, by):
                server = stack.enter_context(mill_up(tmp_path / "data", "--no-agent", home=tmp_path / "home"))
            way.server_port = port_of(server)
            with server.client() as client:
                if not job:
                    with clocks_set(set_clock, agent_by):
                        stack.enter_context(agent_through(way, server, tmp_path))
                    job = submit(client, *ticking(file, 600), timeout_seconds=1800)
                wait_for(client, job, "running")
                short = wait_for(client, submit(client, "true"), "succeeded")
                assert short["queued_at"] <= short["started_at"] <= short["ended_at"], "by the server's clock alone"
                if by:
                    check_times(client, wait_for(client, submit(client, "sleep", "2.5"), "succeeded"))
            if by != server_by[-1]:
                server.kill()
        with server.client() as client:
            ended = wait_for(client, job, "succeeded")
            log = client.get(f"/projects/default/jobs/{job}/log").text
    assert ended["attempt"] == 1 and len(intervals(file)) == 1
    assert log.split() == [str(number) for number in range(600)]


def check_times(client: httpx.Client, job: dict[str, Any]) -> None:
    """Of one that ran for a while: how long, and when its samples were taken."""
    assert job["ledger"]["run"] > 2
    samples = client.get(f"/projects/default/jobs/{job['id']}/usage").json()["items"]
    assert samples, "it ran for long enough"
    assert all(job["started_at"] <= sample["at"] <= job["ended_at"] for sample in samples)


def test_a_full_disk_at_the_agent_loses_no_end_of_a_job(tmp_path: Path, open_path: Path) -> None:
    state = tmp_path / "small"
    state.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(state)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("this machine lets nobody mount a small file system")
    go = open_path / "go"
    try:
        with (
            mill_up(tmp_path / "data", "--no-agent") as server,
            way_to(port_of(server)) as way,
            agent_through(way, server, tmp_path, state / "state"),
            server.client() as client,
        ):
            script = 'echo begun; while [ ! -e "$0" ]; do sleep 0.1; done; echo done; exit 3'
            job = submit(client, "sh", "-c", script, str(go))
            wait_for(client, job, "running")
            fill(state / "filler")
            go.touch()
            refused = submit(client, "true")
            assert "space" in wait_for(client, refused, "failed")["problem"].lower()
            (state / "filler").unlink()
            assert wait_for(client, job, "failed")["exit_code"] == 3
            assert client.get(f"/projects/default/jobs/{job}/log").text == "begun\ndone\n"
            wait_for(client, submit(client, "true"), "succeeded")
    finally:
        subprocess.run(["umount", "-l", str(state)], check=True)


def fill(path: Path) -> None:
    """Until nothing more goes onto that disk."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


def port_of(server: MillUp) -> int:
    return int(httpx.URL(server.url).port or 0)
