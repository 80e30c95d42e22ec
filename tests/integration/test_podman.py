"""A machine with Podman as a compute, end to end: a job in an image reads its data, and outlives its agent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.podman import WITHOUT_PYTHON, a_podman, why_no_podman
from millpond.testing.up import environment, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.flow_server import check_steps

# It starts a server, agents and containers; the driver is tried singly in the contract suite.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("podman")]

READER = (
    "cat /data/digits/a.txt; ls /data; touch /data/digits/b || echo refused; echo out > $MILL_OUTPUT/result; exit 3"
)
FINAL = ("succeeded", "failed", "cancelled")


@contextmanager
def running(command: list[str], root: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (root / "agent.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(root / "nobody"))
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(mill: Mill, job_id: str, *states: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        job: dict[str, Any] = json.loads(mill.ok("get", job_id, "--json").out)
        return job if job["state"] in states else None

    job = wait_until(reached, within=120, what=f"{job_id} in {states}")
    assert job
    return job


def submit(mill: Mill, *arguments: str) -> str:
    done = mill.ok("submit", "--json", "--no-code", "--compute", "box", "-i", WITHOUT_PYTHON, *arguments)
    return str(json.loads(done.out)["id"])


def test_a_job_in_an_image_reads_its_data_and_outlives_its_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = why_no_podman()
    if problem:
        pytest.skip(problem)
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "a.txt").write_text("one\n")
    (tmp_path / "volume").mkdir()
    with a_podman() as podman, mill_up(tmp_path / "data") as server:
        mill = Mill(server, capsys, tmp_path)
        mill.ok("site", "add", "lab")
        (tmp_path / "token").touch(0o600)
        secret = json.loads(mill.ok("compute", "token", "--site", "lab", "--json").out)["secret"]
        (tmp_path / "token").write_text(secret)
        mill.ok("volume", "add", "near", str(tmp_path / "volume"), "--site", "lab")
        mill.ok("data", "init", cwd=tmp_path / "digits")
        mill.ok("data", "sync", cwd=tmp_path / "digits")
        agent = [sys.executable, "-m", "millpond", "agent", "--server", server.url, "--node", "box", "--site", "lab"]
        agent += ["--state-dir", str(tmp_path / "state"), "--driver", "podman", "--token-file", str(tmp_path / "token")]
        for argument in podman.arguments:
            agent += ["--option", f"podman={argument}"]

        with running(agent, tmp_path) as process:
            wait_until(lambda: mill("compute", "show", "box", "--json").code == 0, within=60, what="the compute")
            read = submit(mill, "read", "-d", "digits", "--", "sh", "-c", READER)
            job = until(mill, read, *FINAL)
            log = mill.ok("logs", read).out
            assert (job["state"], job["exit_code"]) == ("failed", 3), (job["reasons"], log)
            assert log.startswith("one\ndigits\n") and log.endswith("refused\n")
            assert job["output_commit"]
            (run,) = json.loads(mill.ok("run", "list", "--filter", f"job = '{read}'", "--json").out)["items"]
            origin = json.loads(mill.ok("run", "show", run["id"], "--json").out)["origin"]
            assert origin["image"] == WITHOUT_PYTHON
            assert origin["image_digest"].startswith("sha256:")
            check_steps(mill, tmp_path, "box", image=WITHOUT_PYTHON)
            lasting = submit(mill, "lasting", "--", "sh", "-c", "until test -e go; do sleep 0.1; done; echo end")
            until(mill, lasting, "running")
            process.kill()
            process.wait()
        with running(agent, tmp_path):
            (placement,) = (tmp_path / "state" / "placements").iterdir()
            (placement / "work" / "go").touch()
            assert until(mill, lasting, *FINAL)["state"] == "succeeded"
            assert mill.ok("logs", lasting).out == "end\n"
            wait_until(lambda: not podman.run("ps", "-a", "-q").strip(), within=60, what="the end of all containers")
