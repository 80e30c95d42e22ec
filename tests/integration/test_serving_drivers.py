"""One endpoint on each real engine: replicas in containers, on nodes of Slurm and in pods, behind one router."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.testing.daemons import free_port
from millpond.testing.kube import Kube
from millpond.testing.podman import a_podman, why_no_podman
from millpond.testing.slurm import running_slurm, why_no_slurm
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.integration.engine_site import EngineSite, skipped
from tests.integration.test_endpoints import BODY, register

# Each starts an engine, a server and agents; where a driver says that replicas are is in the contract suites.
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NAME = "who"
# Answers with a number of its own.
WHO = """
import os

class Model:
    def load(self, path):
        self.number = float(int.from_bytes(os.urandom(2), "big"))

    def predict(self, inputs):
        return {"y": inputs["x"] * 0 + self.number}
"""
# What the model server needs.
PACKAGES = (
    "numpy",
    "numpy.libs",
    "httptools",
    "uvloop",
    "orjson",
    "grpc",
    "google",
    "tritonclient",
    "typing_extensions.py",
    "packaging",
    "rapidjson*.so",
    "ml_dtypes",
)
IMAGE = "localhost/mill-serving:1"


class Lab(EngineSite):
    """With a model, of which replicas are made."""

    def __init__(self, root: Path, server: MillUp, mill: Mill, stack: ExitStack) -> None:
        super().__init__(root, server, mill, stack)
        self.port = free_port(3)
        register(mill, root / "model", "numbers", 1)
        (root / "model" / "1" / "model.py").write_text(WHO)
        mill.ok("model", "register", "numbers", "--from", str(root / "model"))

    def create(self, replicas: int) -> list[dict[str, Any]]:
        """The endpoint; its replicas once they are ready."""
        self.mill.ok("endpoint", "create", NAME, "--model", "numbers@2", "--site", "lab", "--min", str(replicas),
                     "--public", "--environment", "none", "--port", str(self.port), "--unchecked")  # fmt: skip
        try:
            wait_until(lambda: self.shown()["state"] == "ready", within=120, what="an endpoint that is ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.mill.ok('why', NAME).out}") from None
        return list(self.shown()["replicas"])

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = self.mill.ok("endpoint", "show", NAME, "--json").json
        return found

    def numbers(self, times: int = 30) -> set[float]:
        """Who answers, asked through the server."""
        url = f"/projects/default/endpoints/{NAME}/v2/models/{NAME}/infer"
        with self.server.client() as client:
            answers = [
                client.post(url, content=BODY, headers={"content-type": "application/json"}) for _ in range(times)
            ]
        assert {one.status_code for one in answers} == {200}, answers[0].text
        return {one.json()["outputs"][0]["data"][0] for one in answers}

    def end(self) -> None:
        self.mill.ok("endpoint", "delete", NAME, "--yes")
        wait_until(lambda: not self.mill.ok("endpoint", "list", "--json").json["items"], within=120, what="the end")


@pytest.fixture
def lab(open_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Lab]:
    with mill_up(open_path / "data") as server, ExitStack() as stack:
        yield Lab(open_path, server, Mill(server, capfd, open_path), stack)


def test_replicas_and_their_router_in_containers_of_podman(lab: Lab) -> None:
    with skipped(why_no_podman()), a_podman() as podman:
        podman.make_image(IMAGE, PACKAGES)
        options = [word for argument in podman.arguments for word in ("--option", f"podman={argument}")]
        lab.agent("box", "--driver", "podman", "--option", f"image={IMAGE}", *options)
        here = lab.create(2)
        assert {one["compute"] for one in here} == {"box"} and len(lab.numbers()) == 2
        assert len(podman.run("ps", "-q").split()) == 3
        assert httpx.get(f"http://127.0.0.1:{lab.port}/v2/models/{NAME}", trust_env=False).status_code == 200
        lab.end()
        wait_until(lambda: not podman.run("ps", "-a", "-q").strip(), within=60, what="the end of all containers")


def test_replicas_on_nodes_of_slurm(lab: Lab) -> None:
    with skipped(why_no_slurm()), running_slurm() as slurm:
        lab.agent("cluster", "--driver", "slurm", "--option", "look-seconds=0.5",
                  variables={"SLURM_CONF": str(slurm.conf)})  # fmt: skip
        lab.mill.ok("endpoint", "create", NAME, "--model", "numbers@2", "--site", "lab", "--environment", "none",
                    "--public", "--port", str(lab.port), "--unchecked")  # fmt: skip
        wait_until(lambda: "can run routers" in str(lab.shown()["reasons"]), within=60, what="why there is no router")
        lab.end()
        lab.agent("gate")
        here = lab.create(2)
        # Nodes with GPUs are left to jobs that need them.
        assert sorted((one["compute"], one["node"]) for one in here) == [
            ("cluster", slurm.plain_node),
            ("gate", "gate"),
        ]
        assert len(lab.numbers()) == 2
        lab.end()
        wait_until(lambda: not slurm.run("squeue", "-h").strip(), within=120, what="the end of all Slurm jobs")


def test_replicas_in_pods(lab: Lab, kube: Kube) -> None:
    kube.make_image(IMAGE, PACKAGES)
    options = (f"kubeconfig={kube.kubeconfig}", f"image={IMAGE}", f"mount={lab.root}=host")
    lab.agent("cluster", "--driver", "kubernetes", *(word for one in options for word in ("--option", one)))
    # The router is on a machine in the network of the pods.
    with kube.exposing(int(lab.server.url.rpartition(":")[2])) as reached:
        lab.agent("gate", before=("nsenter", f"--net={kube.network}"), url=f"http://{reached}")
        here = lab.create(2)
        assert sorted((one["compute"], one["node"]) for one in here) == [("cluster", "node1"), ("gate", "gate")]
        assert len(lab.numbers()) == 2
        lab.end()
