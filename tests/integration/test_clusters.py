"""Clusters with a real server, agent and Dask: a program that finds one, lost workers, bad input."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from millpond.agent.keeper.processes import Process, marked
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")

# Of a machine that does much else: nothing here waits for so long.
WITHIN = 120
# As anybody would write it: nothing in it is Millpond's.
PROGRAM = """
import time
from distributed import Client, Event

def work(number):
    if number % 2:
        Event("go on").wait()
    return number * number

client = Client()
workers = set(client.scheduler_info(n_workers=-1)["workers"])
asked = client.map(work, range(60), pure=False)
while not any(future.done() for future in asked):
    time.sleep(0.01)
print("begun", flush=True)
while workers <= set(client.scheduler_info(n_workers=-1)["workers"]):
    time.sleep(0.01)
Event("go on").set()
print("sum", sum(client.gather(asked)), flush=True)
"""


# Results differ when they are computed again.
HOLDING = """
import time
from distributed import Client, wait

client = Client()
held = client.map(lambda _: time.time_ns(), range(40), pure=False)
wait(held)
before = client.gather(held)
workers = set(client.scheduler_info(n_workers=-1)["workers"])
print("holding", flush=True)
while workers <= set(client.scheduler_info(n_workers=-1)["workers"]):
    time.sleep(0.01)
print("kept", before == client.gather(held), flush=True)
"""


def shown(mill: Mill, name: str) -> dict[str, Any]:
    found: dict[str, Any] = mill.ok("cluster", "show", name, "--json").json
    return found


def is_ready(mill: Mill, name: str, workers: int) -> bool:
    found = shown(mill, name)
    return bool(found["state"] == "ready" and found["workers_ready"] == workers)


def numbers(mill: Mill, cluster: str) -> dict[str, float]:
    """What Prometheus would read of a cluster, by name."""
    with mill.server.client() as client:
        text = client.get(f"{mill.server.url}/metrics/clusters").text
    families = text_string_to_metric_families(text)
    samples = [one for family in families for one in family.samples if one.labels["cluster_id"] == cluster]
    return {one.name: one.value for one in samples}


def process_of(mill: Mill, job: str) -> Process:
    """The process of a job of a cluster, which is the one that its keeper started."""
    specs = (mill.server.data_dir / "agent" / "placements").glob("*/spec.json")
    placement = next(path.parent for path in specs if json.loads(path.read_text())["job"] == job)
    return min(marked(placement.name), key=lambda one: one.start)


def is_gone(mill: Mill, name: str) -> bool:
    return mill("cluster", "show", name).code != 0


@pytest.fixture
def mill(shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Mill]:
    mill = Mill(shared_up, capfd, tmp_path)
    yield mill
    for one in mill.ok("cluster", "list", "--json").json["items"]:
        mill("cluster", "delete", one["name"], "--yes")


def test_a_program_finds_its_cluster_and_survives_a_lost_worker(mill: Mill, tmp_path: Path) -> None:
    made = mill.ok("cluster", "create", "prep", "--kind", "dask", "--workers", "2", "--cpu", "1", "--json").json
    assert (made["kind"], made["state"], made["wanted"]) == ("dask", "starting", 2)
    wait_until(lambda: is_ready(mill, "prep", 2), within=WITHIN, what="a cluster of two workers")
    before = shown(mill, "prep")
    assert before["address"].startswith("tls://")
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ("submit", "sums", "--cluster", "prep", "--json", "--", "python", "program.py")
    job = mill.ok(*words, cwd=tmp_path).json["id"]
    wait_until(lambda: "begun" in mill.ok("logs", job).out, within=WITHIN, what="a task that has ended")
    lost = before["workers"][0]
    os.kill(process_of(mill, lost["job"]).pid, signal.SIGKILL)
    assert mill.ok("wait", job, "--json").json["state"] == "succeeded"
    assert f"sum {sum(n * n for n in range(60))}" in mill.ok("logs", job).out
    wait_until(lambda: is_ready(mill, "prep", 2), within=WITHIN, what="a worker in place of the lost one")
    told = [one["what"] for one in shown(mill, "prep")["history"]]
    assert any(f"Worker {lost['job_name']} was lost and is being replaced" in what for what in told)
    assert any(f"Worker {lost['job_name']} was replaced" in what for what in told)
    assert numbers(mill, before["id"])["dask_scheduler_workers"] >= 0


def test_workers_retire_and_a_killed_scheduler_comes_back(mill: Mill) -> None:
    mill.ok("cluster", "create", "swap", "--kind", "dask", "--workers", "2")
    wait_until(lambda: is_ready(mill, "swap", 2), within=WITHIN, what="a cluster of two workers")
    first = shown(mill, "swap")
    mill.ok("cluster", "scale", "swap", "--workers", "1")
    wait_until(lambda: is_ready(mill, "swap", 1), within=WITHIN, what="a worker less")
    told = [one["what"] for one in shown(mill, "swap")["history"]]
    assert any("retires: it was idle" in what for what in told)
    before = shown(mill, "swap")
    (retired,) = {one["job"] for one in first["workers"]} - {one["job"] for one in before["workers"]}
    assert "Closing worker gracefully" in mill.ok("logs", retired).out
    os.kill(process_of(mill, before["scheduler"]["job"]).pid, signal.SIGKILL)
    wait_until(
        lambda: shown(mill, "swap")["address"] not in (None, before["address"]), within=WITHIN, what="a scheduler"
    )
    wait_until(lambda: is_ready(mill, "swap", 1), within=WITHIN, what="a worker of the new scheduler")
    told = [one["what"] for one in shown(mill, "swap")["history"]]
    assert any(what.startswith("The scheduler was lost and is being replaced") for what in told)
    mill.ok("cluster", "delete", "swap", "--yes")
    wait_until(lambda: is_gone(mill, "swap"), within=WITHIN, what="a cluster that is gone")


@pytest.mark.long
def test_a_preempted_worker_hands_over_what_it_holds(mill: Mill, tmp_path: Path) -> None:
    half = (os.cpu_count() or 1) // 2
    if not half:
        pytest.skip("one CPU has no room for two workers")
    mill.ok("cluster", "create", "holds", "--kind", "dask", "--workers", "2", "--cpu", str(half))
    wait_until(lambda: is_ready(mill, "holds", 2), within=WITHIN, what="a cluster of two workers")
    (tmp_path / "program.py").write_text(HOLDING)
    words = ("submit", "hold", "--cluster", "holds", "--json", "--", "python", "program.py")
    job = mill.ok(*words, cwd=tmp_path).json["id"]
    wait_until(lambda: "holding" in mill.ok("logs", job).out, within=WITHIN, what="results on the workers")
    urgent = ("submit", "urgent", "--no-code", "--priority", "50", "--cpu", str(half), "--json", "--", "true")
    assert mill.ok("wait", mill.ok(*urgent).json["id"], "--json").json["state"] == "succeeded"
    assert mill.ok("wait", job, "--json").json["state"] == "succeeded"
    assert "kept True" in mill.ok("logs", job).out
    told = [one["what"] for one in shown(mill, "holds")["history"]]
    assert any("Preempted: a job of higher priority" in what for what in told)


def test_what_cannot_be_is_refused_with_words(mill: Mill, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        answer = mill(*words)
        assert answer.code != 0
        return str(answer.err)

    assert "the minimum is more than the maximum" in refused(
        "cluster", "create", "x", "--kind", "dask", "--adapt", "8:1"
    )
    assert "--adapt 1:8" in refused("cluster", "create", "x", "--kind", "dask", "--adapt", "many")
    assert "dask" in refused("cluster", "create", "x", "--kind", "spark")
    assert "no-such" in refused("cluster", "create", "x", "--kind", "dask", "--site", "no-such")
    assert "No node has" in refused("cluster", "create", "x", "--kind", "dask", "--cpu", "100000")
    assert "no-such" in refused("submit", "--cluster", "no-such", "--no-code", "--", "true")
    # A worker that never gets a place: the cluster itself is there, and takes no jobs before its scheduler does.
    mill.ok("cluster", "create", "taken", "--kind", "dask", "--workers", "0")
    assert "'taken' already exists" in refused("cluster", "create", "taken", "--kind", "ray")
    early = mill("submit", "early", "--cluster", "taken", "--no-code", "--", "true")
    if early.code:  # its scheduler may have been quick
        assert "mill cluster show taken --wait" in early.err
    mill.ok("cluster", "delete", "taken", "--yes")
    late = refused("submit", "late", "--cluster", "taken", "--no-code", "--", "true")
    assert "is being deleted" in late or "not found" in late.lower() or "no cluster" in late.lower()
    wait_until(lambda: is_gone(mill, "taken"), within=WITHIN, what="a cluster that is gone")


def test_a_missing_package_names_what_to_do(mill: Mill, tmp_path: Path) -> None:
    """The machine's Python has Dask here, and no Ray."""
    mill.ok("cluster", "create", "rays", "--kind", "ray", "--workers", "1")
    wait_until(lambda: shown(mill, "rays")["state"] == "failing", within=WITHIN, what="a cluster that cannot start")
    said = mill.ok("why", "rays").out
    assert "package ray is missing" in said
    assert "--env requirements.txt" in said
