"""A Slurm cluster as a compute, end to end: a server, an agent on the login node, a volume that nodes see, jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.client.http import Api
from millpond.client.streams import STDOUT, open_exec
from millpond.errors import NotReady
from millpond.testing.gangs import PROGRAM
from millpond.testing.slurm import Slurm, running_slurm, why_no_slurm
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.flow_server import check_steps

# It starts a Slurm, a server and agents; drivers and keepers are tried singly in the contract suite.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("slurm")]

READER = 'cat "$MILL_DATA_DIGITS/a.txt"; echo "$SLURM_JOB_ID" > "$MILL_OUTPUT/id"; echo "$SITE"; exit 3'
FINAL = ("succeeded", "failed", "cancelled")


class Cluster:
    def __init__(self, root: Path, server: MillUp, slurm: Slurm, mill: Mill) -> None:
        self.root, self.server, self.slurm, self.mill = root, server, slurm, mill

    @contextmanager
    def agent(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", "cluster"]
        command += ["--state-dir", str(self.root / "state"), "--driver", "slurm", *options]
        command += ["--option", "init=export SITE=hall", "--option", "look-seconds=0.5"]
        surroundings = {**environment(self.root / "nobody"), "SLURM_CONF": str(self.slurm.conf)}
        with (self.root / "agent.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=surroundings)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def show(self) -> dict[str, Any] | None:
        done = self.mill("compute", "show", "cluster", "--json")
        shown: dict[str, Any] | None = json.loads(done.out) if done.code == 0 else None
        return shown if shown and shown["nodes"] else None

    def job(self, job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.mill.ok("get", job_id, "--json").out)
        return found

    def until(self, job_id: str, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.job(job_id)
            return job if job["state"] in states else None

        job = wait_until(reached, within=120, what=f"{job_id} in {states}")
        assert job
        return job

    def submit(self, *arguments: str) -> str:
        done = self.mill.ok("submit", "--json", "--no-code", "--compute", "cluster", *arguments)
        return str(json.loads(done.out)["id"])

    def slurm_jobs(self) -> list[str]:
        return self.slurm.run("squeue", "-h", "-o", "%j|%T").split()


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    problem = why_no_slurm()
    if problem:
        pytest.skip(problem)
    with running_slurm() as running:
        yield running


@pytest.fixture
def cluster(tmp_path: Path, slurm: Slurm, capsys: pytest.CaptureFixture[str]) -> Iterator[Cluster]:
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "a.txt").write_text("one\n")
    (tmp_path / "volume").mkdir()
    with mill_up(tmp_path / "data") as server:
        mill = Mill(server, capsys, tmp_path)
        mill.ok("site", "add", "lab")
        secret = json.loads(mill.ok("compute", "token", "--site", "lab", "--json").out)["secret"]
        (tmp_path / "token").touch(0o600)
        (tmp_path / "token").write_text(secret)
        mill.ok("volume", "add", "near", str(tmp_path / "volume"), "--site", "lab")
        mill.ok("data", "init", cwd=tmp_path / "digits")
        mill.ok("data", "sync", cwd=tmp_path / "digits")
        yield Cluster(tmp_path, server, slurm, mill)


def test_jobs_on_slurm_read_their_data_and_outlive_their_agent(cluster: Cluster) -> None:
    with cluster.agent("--token-file", str(cluster.root / "token"), "--site", "lab") as agent:
        shown = wait_until(cluster.show, within=120, what="the nodes of the cluster")
        assert shown
        assert [node["name"] for node in shown["nodes"]] == [cluster.slurm.gpu_node, cluster.slurm.plain_node]
        assert (shown["driver"], shown["capabilities"]["gpu_fractions"]) == ("slurm", "none")

        read = cluster.submit("read", "-d", "digits", "--", "sh", "-c", READER)
        job = cluster.until(read, *FINAL)
        log = cluster.mill.ok("logs", read).out
        assert (job["state"], job["exit_code"]) == ("failed", 3), (job["reasons"], log)
        assert log == "one\nhall\n"
        assert job["output_commit"]
        check_steps(cluster.mill, cluster.root, "cluster")

        lasting = cluster.submit("lasting", "--", "sh", "-c", "while ! test -e go; do sleep 0.1; done; echo end")
        cluster.until(lasting, "running")
        os.kill(agent.pid, 9)
        agent.wait()
    with cluster.agent():
        (placement,) = (cluster.root / "state" / "placements").iterdir()
        (placement / "work" / "go").touch()
        assert cluster.until(lasting, *FINAL)["state"] == "succeeded"
        assert cluster.mill.ok("logs", lasting).out == "end\n"
        _stopped_while_it_waits(cluster)


def test_a_distributed_job_over_one_cached_dataset_outlives_its_agent(cluster: Cluster) -> None:
    command = 'cat "$MILL_DATA_DIGITS/a.txt"; while ! test -e go; do sleep 0.1; done; exec python3 -c "$PROGRAM"'
    with cluster.agent("--token-file", str(cluster.root / "token"), "--site", "lab") as agent:
        wait_until(cluster.show, within=120, what="the nodes of the cluster")
        asked = ("-n", "3", "--cpu", "2", "-d", "digits", "-e", f"PROGRAM={PROGRAM}")
        gang = cluster.submit("gang", *asked, "--", "sh", "-c", command)
        cluster.until(gang, "running")
        os.kill(agent.pid, 9)
        agent.wait()
    with cluster.agent():
        wait_until(lambda: _beside(cluster, gang, rank=2) == b"2 of 3\n", within=120, what="a command beside rank 2")
        (placement,) = (cluster.root / "state" / "placements").iterdir()
        (placement / "work" / "go").touch()
        job = cluster.until(gang, *FINAL)
    assert job["state"] == "succeeded", job["reasons"]
    logs = [cluster.mill.ok("logs", gang, "--rank", str(rank)).out for rank in range(3)]
    assert logs == [f"one\nrank {rank}: sum 6\n" for rank in range(3)]
    (attempt,) = json.loads(cluster.mill.ok("attempts", gang, "--json").out)["items"]
    # Two of two CPUs each do not all fit one node of four.
    assert {rank["node"] for rank in attempt["ranks"]} == {cluster.slurm.gpu_node, cluster.slurm.plain_node}


def _beside(cluster: Cluster, job: str, *, rank: int) -> bytes:
    """What a command says there; nothing as long as no agent comes for the stream."""
    token = json.loads((cluster.server.home / "credentials.json").read_text())["servers"][cluster.server.url]["token"]
    command = ["sh", "-c", "echo $RANK of $WORLD_SIZE"]
    with Api(cluster.server.url, token) as api, open_exec(api, "default", job, command, rank=rank) as stream:
        try:
            return b"".join(one[1:] for one in stream.messages() if isinstance(one, bytes) and one[0] == STDOUT)
        except NotReady:
            return b""


def _stopped_while_it_waits(cluster: Cluster) -> None:
    """Somebody else has all GPUs: the server sees them free, Slurm knows better and says why."""
    other = cluster.slurm.run("sbatch", "--parsable", "--gres=gpu:2", "-o", "/dev/null", "--wrap", "sleep 600").strip()
    waiting = cluster.submit("waiting", "--gpu", "2", "--", "sleep", "600")

    def said() -> bool:
        return "(Resources)" in json.dumps(cluster.job(waiting))

    wait_until(said, within=120, what="Slurm's reason")
    cluster.mill.ok("stop", waiting)
    assert cluster.until(waiting, *FINAL)["state"] == "cancelled"
    wait_until(lambda: cluster.slurm_jobs() == ["wrap|RUNNING"], within=60, what="the end of its job in Slurm")
    cluster.slurm.run("scancel", other)
