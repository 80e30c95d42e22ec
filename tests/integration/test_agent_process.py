"""`mill agent` as a process against a real server: signals, refusals, and kills at any moment."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millpond.agent.keeper.processes import marked
from millpond.services.jobs import schedule
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until


class Site:
    def __init__(self, root: Path, server: RunningServer) -> None:
        self.root, self.server = root, server
        self.token_file = root / "token"
        self.token_file.write_text(add_agent(server.deps.db, now=server.deps.clock.now(), seen=False).token)
        self.token_file.chmod(0o600)

    @contextmanager
    def agent(self, *options: str, token_file: Path | None = None) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", "node"]
        command += [
            "--token-file",
            str(token_file or self.token_file),
            "--state-dir",
            str(self.root / "state"),
            *options,
        ]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()
                process.communicate()

    def wait_until_connected(self) -> None:
        def connected() -> bool:
            return bool(self.server.admin.get("/computes").json()["items"][0]["nodes"])

        wait_until(connected, what="the agent's first report")

    def submit(self, *command: str) -> str:
        job = self.server.admin.post("/projects/default/jobs", json={"command": list(command)}).json()
        assert "id" in job, job
        return str(job["id"])

    def states(self) -> dict[str, str]:
        """What every job has come to; the scheduler, which has no loop here, is given a turn."""
        schedule.run_once(self.server.deps, self.server.deps.clock.now())
        self.server.hub.wake("agents")
        return {job["id"]: job["state"] for job in self.server.admin.get("/jobs").json()["items"]}

    def wait_for(self, job: str, state: str) -> None:
        wait_until(lambda: self.states()[job] == state, what=f"{state} job", within=60)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running_server(tmp_path / "data") as server:
        yield Site(tmp_path, server)


def test_a_signal_ends_the_agent_and_not_its_jobs(site: Site, open_path: Path) -> None:
    with site.agent() as agent:
        site.wait_until_connected()
        job = site.submit("sh", "-c", 'echo $$ > "$0"; exec sleep 600', str(open_path / "pid"))
        site.wait_for(job, "running")
        pid = int(wait_until(lambda: (open_path / "pid").exists() and (open_path / "pid").read_text()))
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(timeout=60) == 0
        os.kill(pid, 0)
    with site.agent():
        site.server.admin.post(f"/projects/default/jobs/{job}/stop")
        site.wait_for(job, "cancelled")
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.long
def test_a_second_agent_on_the_same_directory_is_refused(site: Site) -> None:
    with site.agent() as first:
        wait_until((site.root / "state/agent.json").exists)
        assert json.loads((site.root / "state/agent.json").read_text())["pid"] == first.pid
        assert (site.root / "state").stat().st_mode & 0o077 == 0
        with site.agent() as second:
            _, errors = second.communicate(timeout=60)
            assert second.returncode == 1
            assert f"Another agent (process {first.pid})" in errors


def test_a_token_the_server_does_not_know(site: Site, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("mill_wrong")
    wrong.chmod(0o600)
    with site.agent(token_file=wrong) as agent:
        _, errors = agent.communicate(timeout=60)
        assert agent.returncode == 4
        assert "the server refused this agent" in errors


def test_idle_it_needs_little_memory_and_ends_with_the_process_that_started_it(site: Site) -> None:
    with subprocess.Popen(["sleep", "600"]) as parent, site.agent("--parent-pid", str(parent.pid)) as agent:
        site.wait_until_connected()
        status = Path(f"/proc/{agent.pid}/status").read_text()
        assert int(status.split("VmRSS:")[1].split()[0]) < 90_000, "kilobytes, idle"
        parent.kill()
        parent.wait()
        assert agent.wait(timeout=60) == 0


def kill_again_and_again(site: Site, out: Path, *, jobs: int, kills: int) -> None:
    """Jobs append to a file of their own: each line must be there once, and in the log as well."""
    chance = random.Random()
    script = 'for i in 1 2 3 4 5 6 7 8; do echo $MILL_JOB_ID $i; echo $i >> "$0/$MILL_JOB_ID"; sleep 0.2; done'
    ids = [site.submit("sh", "-c", script, str(out)) for _ in range(jobs)]
    for _ in range(kills):
        with site.agent():
            deadline = time.monotonic() + chance.uniform(0.5, 1.8)
            while time.monotonic() < deadline:
                site.states()
    with site.agent():
        for job in ids:
            site.wait_for(job, "succeeded")
    lines = [str(n) for n in range(1, 9)]
    for job in ids:
        assert (out / job).read_text().split() == lines
        log = site.server.admin.get(f"/projects/default/jobs/{job}/log").text
        assert log.splitlines() == [f"{job} {line}" for line in lines]
    assert [path for path in (site.root / "state/placements").iterdir() if marked(path.name)] == []


def test_kills_lose_and_double_nothing(site: Site, open_path: Path) -> None:
    kill_again_and_again(site, open_path, jobs=4, kills=2)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_many_kills_lose_and_double_nothing(site: Site, open_path: Path) -> None:
    kill_again_and_again(site, open_path, jobs=60, kills=50)
