"""A cluster as a compute, end to end: a server, an agent outside the cluster, a volume that pods see, jobs in pods."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.gangs import PROGRAM
from millpond.testing.kube import IMAGE, Kube
from millpond.testing.up import MillUp, environment, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.flow_server import check_steps

# The first test starts the cluster, and pods wait for loaded machines.
pytestmark = pytest.mark.timeout(900)

DATA = {"train/a.txt": "one\n", "train/b.txt": "two\n"}
# Reads its input by both names, and tries to write where it may not.
READER = """
import os
folder = os.environ["MILL_DATA_DIGITS"]
print(folder, sorted(os.listdir("/data")), sorted(os.listdir("/data/digits/train")))
print(open("/data/digits/train/a.txt").read())
try:
    open("/data/digits/train/new", "w")
except OSError as error:
    print("refused:", error.strerror)
open(os.environ["MILL_OUTPUT"] + "/result", "w").write("done")
raise SystemExit(3)
"""


class Cluster:
    def __init__(self, root: Path, server: MillUp, kube: Kube, mill: Mill) -> None:
        self.root, self.server, self.kube, self.mill = root, server, kube, mill

    @contextmanager
    def agent(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", "cluster"]
        command += ["--state-dir", str(self.root / "state"), "--driver", "kubernetes", *options]
        for option in (f"kubeconfig={self.kube.kubeconfig}", f"image={IMAGE}", f"mount={self.root}=host"):
            command += ["--option", option]
        with (self.root / "agent.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(self.root / "nobody"))
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def job(self, job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.mill.ok("get", job_id, "--json").out)
        return found

    def until(self, job_id: str, *states: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            job = self.job(job_id)
            return job if job["state"] in states else None

        job = wait_until(reached, within=180, what=f"{job_id} in {states}")
        assert job
        return job

    def submit(self, *arguments: str) -> str:
        done = self.mill.ok("submit", "--json", "--no-code", "--compute", "cluster", *arguments)
        return str(json.loads(done.out)["id"])


@pytest.fixture
def cluster(tmp_path: Path, kube: Kube, capsys: pytest.CaptureFixture[str]) -> Iterator[Cluster]:
    for path, text in DATA.items():
        file = tmp_path / "digits" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
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
        yield Cluster(tmp_path, server, kube, mill)


@pytest.mark.long
def test_a_job_in_a_pod_reads_its_data_and_outlives_its_agent(cluster: Cluster) -> None:
    with cluster.agent("--token-file", str(cluster.root / "token"), "--site", "lab") as agent:
        wait_until(lambda: _nodes(cluster), within=180, what="the nodes of the cluster")
        shown = json.loads(cluster.mill.ok("compute", "show", "cluster", "--json").out)
        assert [node["name"] for node in shown["nodes"]] == ["node1"]
        assert (shown["kind"], shown["driver"]) == ("cluster", "kubernetes")
        assert shown["capabilities"]["containers"] and shown["capabilities"]["limits_enforced"]

        read = cluster.submit("read", "-d", "digits", "--", "python3", "-c", READER)
        job = cluster.until(read, "succeeded", "failed", "cancelled")
        log = cluster.mill.ok("logs", read).out
        assert (job["state"], job["exit_code"], job["node"]) == ("failed", 3, "node1"), (job["reasons"], log)
        assert "/data/digits ['digits'] ['a.txt', 'b.txt']" in log and "one\n" in log
        assert "refused: Read-only file system" in log
        assert job["output_commit"]
        check_steps(cluster.mill, cluster.root, "cluster", file="train/a.txt")

        lasting = cluster.submit("lasting", "--", "sh", "-c", "while ! test -e go; do sleep 0.1; done; echo end")
        cluster.until(lasting, "running")
        agent.kill()
        agent.wait()
    with cluster.agent():
        _touch(cluster, "go")
        assert cluster.until(lasting, "succeeded", "failed", "cancelled")["state"] == "succeeded"
        assert cluster.mill.ok("logs", lasting).out == "end\n"

        stopped = cluster.submit("stopped", "--", "sleep", "600")
        cluster.until(stopped, "running")
        cluster.mill.ok("stop", stopped)
        assert cluster.until(stopped, "succeeded", "failed", "cancelled")["state"] == "cancelled"
        wait_until(lambda: not _jobs(cluster), within=180, what="the end of its Jobs in the cluster")


@pytest.mark.long
def test_a_distributed_job_over_one_cached_dataset_outlives_its_agent(cluster: Cluster) -> None:
    command = 'cat /data/digits/train/a.txt; while ! test -e go; do sleep 0.1; done; exec python3 -c "$PROGRAM"'
    with cluster.agent("--token-file", str(cluster.root / "token"), "--site", "lab") as agent:
        wait_until(lambda: _nodes(cluster), within=180, what="the nodes of the cluster")
        gang = cluster.submit(
            "gang", "-n", "3", "-d", "digits", "-e", f"PROGRAM={PROGRAM}", "--", "sh", "-c", command
        )  # fmt: skip
        cluster.until(gang, "running")
        agent.kill()
        agent.wait()
    with cluster.agent():
        beside = [
            _beside(cluster, gang, rank, "echo $RANK of $WORLD_SIZE in $(cat /etc/hostname)") for rank in range(3)
        ]
        assert beside == [f"{rank} of 3 in rank-{rank}\n" for rank in range(3)]
        assert _names(cluster) == ["rank-0", "rank-1", "rank-2"], "what a cluster's DNS serves"
        _touch(cluster, "go")
        job = cluster.until(gang, "succeeded", "failed", "cancelled")
        assert job["state"] == "succeeded", job["reasons"]
        logs = [cluster.mill.ok("logs", gang, "--rank", str(rank)).out for rank in range(3)]
        assert all(f"rank {rank}: sum 6\n" in log and "one" in log for rank, log in enumerate(logs)), logs
        wait_until(lambda: not _jobs(cluster), within=180, what="the end of its Jobs in the cluster")


def _beside(cluster: Cluster, job: str, rank: int, script: str) -> str:
    """Once the new agent has come, a stream opens."""

    def said() -> str:
        command = [sys.executable, "-m", "millpond", "exec", job, "--rank", str(rank), "--", "sh", "-c", script]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(cluster.server.home), check=False
        )
        return done.stdout.decode() if done.returncode == 0 else ""

    return wait_until(said, within=180, what=f"a command beside rank {rank}")


def _names(cluster: Cluster) -> list[str]:
    (found,) = json.loads(cluster.kube.kubectl("get", "endpoints", "-l", "millpond.dev/placement", "-o", "json"))[
        "items"
    ]
    return sorted(address["hostname"] for subset in found["subsets"] for address in subset["addresses"])


def _nodes(cluster: Cluster) -> bool:
    done = cluster.mill("compute", "show", "cluster", "--json")
    return done.code == 0 and bool(json.loads(done.out)["nodes"])


def _touch(cluster: Cluster, name: str) -> None:
    (placement,) = (cluster.root / "state" / "placements").iterdir()
    (placement / "work" / name).touch()


def _jobs(cluster: Cluster) -> str:
    return cluster.kube.kubectl("get", "jobs", "-o", "name")
