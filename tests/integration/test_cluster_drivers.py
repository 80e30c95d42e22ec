"""Dask on each real engine: workers in containers, on nodes of Slurm and in pods run programs of Dask's own pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.images import packages_of
from millpond.testing.kube import Kube
from millpond.testing.podman import a_podman, why_no_podman
from millpond.testing.slurm import running_slurm, why_no_slurm
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.engine_site import EngineSite, skipped

pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")

# Each starts an engine, a server and an agent; plain processes are in test_clusters.py.
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

WITHIN = 300
IMAGE = "localhost/mill-dask:1"
# From docs.dask.org ("10 Minutes to Dask", "Linear Algebra"), with the client of "Deploy Dask Clusters" before them.
PROGRAM = """
from dask.distributed import Client

client = Client()
print("workers", len(client.scheduler_info(n_workers=-1)["workers"]), flush=True)

import dask

df = dask.datasets.timeseries()
df2 = df[df.y > 0]
df3 = df2.groupby("name").x.std()
computed_df = df3.compute()
print("names", len(computed_df), flush=True)

import dask.array as da

X = da.random.random((200000, 100), chunks=(10000, 100))
u, s, v = da.linalg.svd(X)
u, s, v = dask.compute(u, s, v)
print("svd", u.shape, s.shape, v.shape, flush=True)
"""


class Lab(EngineSite):
    def runs_a_program_of_dasks_own(self, *asked: str) -> dict[str, Any]:
        """The cluster, as it was when the program had ended."""
        (self.root / "program").mkdir()
        (self.root / "program" / "program.py").write_text(PROGRAM)
        self.mill.ok("cluster", "create", "prep", "--kind", "dask", "--workers", "2", "--site", "lab", *asked)
        self.until(lambda: self.shown()["state"] == "ready")
        words = ("submit", "sums", "--cluster", "prep", "--json", *asked, "--", "python3", "program.py")
        job = self.mill.ok(*words, cwd=self.root / "program").json["id"]
        state = self.mill.ok("wait", job, "--json").json["state"]
        log = self.mill.ok("logs", job).out
        assert state == "succeeded", log
        assert log.splitlines()[-3:] == ["workers 2", "names 26", "svd (200000, 100) (100,) (100, 100)"]
        return self.shown()

    def scales_and_ends(self) -> None:
        """The worker that goes is retired, and not killed."""
        before = self.shown()["workers"]
        self.mill.ok("cluster", "scale", "prep", "--workers", "1")
        self.until(lambda: self.shown()["state"] == "ready" and len(self.shown()["workers"]) == 1)
        (gone,) = {one["job"] for one in before} - {one["job"] for one in self.shown()["workers"]}
        assert "Closing worker gracefully" in self.mill.ok("logs", gone).out
        self.mill.ok("cluster", "delete", "prep", "--yes")
        wait_until(lambda: self.mill("cluster", "show", "prep").code != 0, within=WITHIN, what="the cluster's end")
        assert not list((self.root / "volume" / ".millpond" / "scratch").glob("*"))

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.mill.ok("cluster", "show", "prep", "--json").json
        return found

    def until(self, reached: Callable[[], bool]) -> None:
        try:
            wait_until(reached, within=WITHIN, what="the cluster")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(self.shown(), indent=1)}") from None


@pytest.fixture
def lab(open_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Lab]:
    with mill_up(open_path / "data") as server, ExitStack() as stack:
        yield Lab(open_path, server, Mill(server, capfd, open_path), stack)


@pytest.fixture(scope="module")
def packages() -> list[str]:
    return packages_of("dask[dataframe]", "distributed", "prometheus-client")


def test_dask_in_containers_of_podman(lab: Lab, packages: list[str]) -> None:
    with skipped(why_no_podman()), a_podman() as podman:
        podman.make_image(IMAGE, packages)
        options = [word for argument in podman.arguments for word in ("--option", f"podman={argument}")]
        lab.agent("box", "--driver", "podman", "--option", f"image={IMAGE}", *options)
        shown = lab.runs_a_program_of_dasks_own()
        assert {one["compute"] for one in shown["workers"]} == {"box"}
        lab.scales_and_ends()
        wait_until(lambda: not podman.run("ps", "-a", "-q").strip(), within=60, what="the end of all containers")


def test_dask_on_nodes_of_slurm(lab: Lab) -> None:
    with skipped(why_no_slurm()), running_slurm() as slurm:
        lab.agent("cluster", "--driver", "slurm", "--option", "look-seconds=0.5",
                  variables={"SLURM_CONF": str(slurm.conf)})  # fmt: skip
        shown = lab.runs_a_program_of_dasks_own("--memory", "1GB")
        assert {one["compute"] for one in shown["workers"]} == {"cluster"}
        lab.scales_and_ends()
        wait_until(lambda: not slurm.run("squeue", "-h").strip(), within=120, what="the end of all Slurm jobs")


def test_dask_in_pods(lab: Lab, kube: Kube, packages: list[str]) -> None:
    kube.make_image(IMAGE, packages)
    options = (f"kubeconfig={kube.kubeconfig}", f"image={IMAGE}", f"mount={lab.root}=host")
    lab.agent("pods", "--driver", "kubernetes", *(word for one in options for word in ("--option", one)))
    shown = lab.runs_a_program_of_dasks_own()
    assert {(one["compute"], one["node"]) for one in shown["workers"]} == {("pods", "node1")}
    lab.scales_and_ends()
