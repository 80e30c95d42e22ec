"""An agent inside the cluster, as `mill compute attach kubernetes` prints it: it fills a volume there and runs jobs."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from millpond.testing.kube import IMAGE, Kube
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

# The first test starts the cluster, and pods wait for loaded machines.
pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

PROJECT = Path(__file__).parents[2]
READ = "import os; print(open('/data/digits/a.txt').read(), os.listdir('/data'))"
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mill}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""


class Inside:
    """A server, and a cluster whose pods reach it at `url`. Namespaces have names of their own."""

    def __init__(self, root: Path, kube: Kube, mill: Mill, url: str) -> None:
        self.root, self.kube, self.mill, self.url = root, kube, mill, url
        self.site = f"s{secrets.token_hex(3)}"
        self.space = f"mill-agent-{self.site}"
        mill.ok("site", "add", self.site)

    def attach(self, *arguments: str) -> None:
        told = ("--site", self.site, "--namespace", self.space, "--url", self.url, "--image", IMAGE, "--json")
        found = self.mill.ok("compute", "attach", "kubernetes", *told, *arguments).json
        (deployment,) = (one for one in found["items"] if one["kind"] == "Deployment")
        use_this_python(deployment["spec"]["template"]["spec"])
        self.kube.kubectl("apply", "-f", "-", stdin=json.dumps(found))

    def computes(self) -> dict[str, Any]:
        return {one["name"]: one for one in self.mill.ok("compute", "list", "--json").json["items"]}

    def wait_for_the_agent(self) -> None:
        def is_there() -> bool:
            found = self.computes().get(self.site)
            return found is not None and found["health"] == "ok" and found["driver"] == "kubernetes"

        wait_until(is_there, within=180, what="the agent in its pod")

    def add_volume(self, path: str) -> None:
        """The agent's pod has made the directory."""
        wait_until(lambda: self.mill("volume", "add", self.site, path, "--site", self.site).code == 0, within=120)

    def run(self, *arguments: str) -> tuple[dict[str, Any], str]:
        asked = ("submit", "--json", "--no-code", "--compute", self.site, *arguments)
        job_id = self.mill.ok(*asked).json["id"]

        def ended() -> dict[str, Any] | None:
            job: dict[str, Any] = self.mill.ok("get", job_id, "--json").json
            return job if job["state"] in ("succeeded", "failed", "cancelled") else None

        job = wait_until(ended, within=180, what="the end of the job")
        assert job
        return job, self.mill.ok("logs", job_id).out


def use_this_python(pod: dict[str, Any]) -> None:
    """There is no image of Millpond here: its pod sees the Python and the packages of this machine."""
    wanted = {str(Path(path).resolve()) for path in ("/usr", sys.prefix, sys.base_prefix, PROJECT)}
    (container,) = pod["containers"]
    container["command"] = [sys.executable, "-m", "millpond", "agent"]
    for number, path in enumerate(sorted(wanted)):
        pod["volumes"].append({"name": f"machine-{number}", "hostPath": {"path": path}})
        container["volumeMounts"].append({"name": f"machine-{number}", "mountPath": path, "readOnly": True})


@pytest.fixture
def inside(tmp_path: Path, kube: Kube, capsys: pytest.CaptureFixture[str]) -> Iterator[Inside]:
    (tmp_path / "digits").mkdir()
    (tmp_path / "digits" / "a.txt").write_text("one")
    with mill_up(tmp_path / "data") as server:
        port = urlsplit(server.url).port
        assert port
        mill = Mill(server, capsys, tmp_path)
        mill.ok("data", "init", cwd=tmp_path / "digits")
        mill.ok("data", "sync", cwd=tmp_path / "digits")
        with kube.exposing(port) as address:
            found = Inside(tmp_path, kube, mill, f"http://{address}")
            yield found
            kube.kubectl("delete", "namespace", found.space, "--wait=false")


def test_a_directory_of_the_nodes_and_a_namespace_for_the_project(inside: Inside) -> None:
    shared = inside.root / "shared"
    inside.attach("--mount", f"{shared}=host", "--jobs-of", "default")
    inside.wait_for_the_agent()
    shown = inside.mill.ok("compute", "show", inside.site, "--json").json
    assert [node["name"] for node in shown["nodes"]] == ["node1"], "its service account may list nodes"
    inside.add_volume(f"{shared}/cache")
    inside.mill.ok("cache", "add", "digits", "--near", inside.site)
    (cached,) = (shared / "cache").glob("commits/*/*/*")
    assert (cached / "a.txt").read_text() == "one", "filled from within the cluster"

    job, log = inside.run("read", "-d", "digits", "--", "python3", "-c", READ)
    assert job["state"] == "succeeded", (job["reasons"], log)
    assert log.strip() == "one ['digits']"

    pods = ("-n", inside.space, "-l", "app.kubernetes.io/name=millpond-agent")
    inside.kube.kubectl("delete", "pod", *pods, "--wait=true")
    job, log = inside.run("again", "-d", "digits", "--", "python3", "-c", READ)
    assert job["state"] == "succeeded", "the next agent has the credential of the one before"


def test_a_claim_and_jobs_beside_the_agent(inside: Inside) -> None:
    inside.kube.kubectl("create", "namespace", inside.space)
    inside.kube.kubectl("-n", inside.space, "apply", "-f", "-", stdin=CLAIM)
    inside.attach("--mount", "/mill=pvc:mill")
    inside.wait_for_the_agent()
    assert inside.computes()[inside.site]["capabilities"]["shared_trust"] is False, "a pod sees its own inputs alone"
    inside.add_volume("/mill/cache")
    job, log = inside.run("read", "-d", "digits", "--", "python3", "-c", READ)
    assert job["state"] == "succeeded", (job["reasons"], log)
    assert log.strip() == "one ['digits']"
    (cached,) = inside.mill.ok("cache", "list", "--on", inside.site, "--json").json["items"]
    assert (cached["state"], cached["problem"]) == ("ready", None)
