"""Ray on each real engine: a program of Ray's own pages joins workers on nodes of Slurm and in pods."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.keeper.processes import Process, all_processes, descendants, marked
from millpond.testing.kube import running_kube, why_no_kube
from millpond.testing.slurm import running_slurm, why_no_slurm
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.engine_site import EngineSite, skipped

# Ray comes from an environment that is built for its cluster, as users do it: some hundred megabytes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

WITHIN = 600
IMAGE = "localhost/mill-ray:1"
# For what they load in turn: libraries that Ray wants of the image.
LIBRARIES = ("grpc", "pydantic_core")
REQUIREMENTS = "ray[default]==2.60.0\n"
# From docs.ray.io ("Monte Carlo Estimation of π"), with fewer samples; of the last line only the nodes are new.
PI = """
import math
import time
import random
import ray

ray.init()

@ray.remote
class ProgressActor:
    def __init__(self, total_num_samples: int):
        self.total_num_samples = total_num_samples
        self.num_samples_completed_per_task = {}

    def report_progress(self, task_id: int, num_samples_completed: int) -> None:
        self.num_samples_completed_per_task[task_id] = num_samples_completed

    def get_progress(self) -> float:
        return (
            sum(self.num_samples_completed_per_task.values()) / self.total_num_samples
        )

@ray.remote
def sampling_task(num_samples: int, task_id: int,
                  progress_actor: ray.actor.ActorHandle) -> int:
    num_inside = 0
    for i in range(num_samples):
        x, y = random.uniform(-1, 1), random.uniform(-1, 1)
        if math.hypot(x, y) <= 1:
            num_inside += 1
    progress_actor.report_progress.remote(task_id, num_samples)
    return num_inside

NUM_SAMPLING_TASKS = 10
NUM_SAMPLES_PER_TASK = 100_000
TOTAL_NUM_SAMPLES = NUM_SAMPLING_TASKS * NUM_SAMPLES_PER_TASK

progress_actor = ProgressActor.remote(TOTAL_NUM_SAMPLES)
results = [
    sampling_task.remote(NUM_SAMPLES_PER_TASK, i, progress_actor)
    for i in range(NUM_SAMPLING_TASKS)
]
while True:
    progress = ray.get(progress_actor.get_progress.remote())
    print(f"Progress: {int(progress * 100)}%")
    if progress == 1:
        break
    time.sleep(1)
total_num_inside = sum(ray.get(results))
pi = (total_num_inside * 4) / TOTAL_NUM_SAMPLES
print(f"Estimated value of π is: {pi}")
print("workers", sum(node["Alive"] and "CPU" in node["Resources"] for node in ray.nodes()))
"""


class Lab(EngineSite):
    def builds_elsewhere(self) -> None:
        """The environment, on a machine of the site with pip and a way to its packages: the images have neither."""
        self.agent("builder", "--driver", "process")
        (self.root / "program").mkdir()
        (self.root / "program" / "requirements.txt").write_text(REQUIREMENTS)
        words = ("submit", "build", "--requirements", "requirements.txt", "--compute", "builder", "--json")
        told = self.mill.ok(*words, "--", "python3", "-c", "import ray", cwd=self.root / "program")
        assert self.mill("wait", told.json["id"], "--json").json["state"] == "succeeded"

    def runs_a_program_of_rays_own(self, compute: str, *asked: str) -> None:
        (self.root / "program").mkdir(exist_ok=True)
        (self.root / "program" / "program.py").write_text(PI)
        (self.root / "program" / "requirements.txt").write_text(REQUIREMENTS)
        words = ("--kind", "ray", "--workers", "2", "--env", "requirements.txt", "--compute", compute, *asked)
        self.mill.ok("cluster", "create", "rays", *words, cwd=self.root / "program")
        self.until(lambda: self.shown()["state"] == "ready" and self.shown()["workers_ready"] == 2)
        assert {one["compute"] for one in self.shown()["workers"]} == {compute}
        words = ("--cluster", "rays", "--requirements", "requirements.txt", "--compute", compute, "--json", *asked)
        told = self.mill.ok("submit", "pi", *words, "--", "python3", "program.py", cwd=self.root / "program")
        state = self.mill("wait", told.json["id"], "--json").json["state"]
        log = self.mill.ok("logs", told.json["id"]).out
        assert state == "succeeded" and "Estimated value of π is: 3.1" in log and "workers 2" in log, log
        assert "Ray Client" not in log

    def ends(self) -> None:
        self.mill.ok("cluster", "delete", "rays", "--yes")
        wait_until(lambda: self.mill("cluster", "show", "rays").code != 0, within=WITHIN, what="the cluster's end")
        assert not list((self.root / "volume" / ".millpond" / "scratch").glob("*"))

    def placements_of_the_cluster(self) -> list[Path]:
        """Of its scheduler and workers, as they run at the process driver's agent."""
        jobs = {self.shown()["scheduler"]["job"], *(one["job"] for one in self.shown()["workers"])}
        found = (self.root / "box" / "placements").glob("*/spec.json")
        return [path.parent for path in found if json.loads(path.read_text())["job"] in jobs]

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.mill.ok("cluster", "show", "rays", "--json").json
        return found

    def until(self, reached: Callable[[], bool]) -> None:
        try:
            wait_until(reached, within=WITHIN, what="the cluster")
        except AssertionError as error:
            logs = self.mill("cluster", "logs", "rays").out
            raise AssertionError(f"{error}\n{json.dumps(self.shown(), indent=1)}\n{logs}") from None


@pytest.fixture
def lab(open_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Lab]:
    with mill_up(open_path / "data") as server, ExitStack() as stack:
        yield Lab(open_path, server, Mill(server, capfd, open_path), stack)


def on_slurm(lab: Lab) -> None:
    with skipped(why_no_slurm()), running_slurm() as slurm:
        lab.agent("cluster", "--driver", "slurm", "--option", "look-seconds=0.5",
                  variables={"SLURM_CONF": str(slurm.conf)})  # fmt: skip
        lab.runs_a_program_of_rays_own("cluster", "--memory", "1500MB")
        lab.ends()
        wait_until(lambda: not slurm.run("squeue", "-h").strip(), within=120, what="the end of all Slurm jobs")


def in_pods(lab: Lab) -> None:
    with skipped(why_no_kube()), running_kube() as kube:
        kube.make_image(IMAGE, LIBRARIES)
        options = (f"kubeconfig={kube.kubeconfig}", f"image={IMAGE}", f"mount={lab.root}=host")
        lab.agent("pods", "--driver", "kubernetes", *(word for one in options for word in ("--option", one)))
        lab.builds_elsewhere()
        lab.runs_a_program_of_rays_own("pods")
        lab.ends()


@pytest.mark.parametrize("engine", [on_slurm, in_pods])
def test_a_program_of_rays_own_on_a_real_engine(lab: Lab, engine: Callable[[Lab], None]) -> None:
    engine(lab)


def test_nothing_of_ray_outlives_a_killed_keeper(lab: Lab) -> None:
    """Some of Ray's processes overwrite the environment by which the agent knows those of a job."""
    lab.agent("box", "--driver", "process")
    lab.runs_a_program_of_rays_own("box")
    for placement in lab.placements_of_the_cluster():
        owner = json.loads((placement / "claim").read_text())
        processes = descendants(owner["pid"])
        assert len(processes) > 5
        for pid in (owner["pid"], owner["guard"]["pid"], *(one.pid for one in marked(placement.name))):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(partial(all_gone, processes), within=WITHIN, what="the end of all that was Ray's")


def all_gone(processes: list[Process]) -> bool:
    now = {(one.pid, one.start) for one in all_processes() if one.is_alive}
    return not any((one.pid, one.start) in now for one in processes)
