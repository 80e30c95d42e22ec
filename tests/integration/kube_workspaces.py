"""A server, and an agent that makes claims of a real Kubernetes for workspaces; what its pods and claims are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from millpond.testing.kube import IMAGE, Kube
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

MILLPOND = "localhost/millpond:workspaces"
WITHIN = 120.0


class ClaimSite:
    """The site `lab`, with the volume `near` and the compute `cluster`, whose claims lie in a namespace of its own.

    The agent runs in the network of the cluster's pods: they reach the server at the same address.
    """

    def __init__(self, root: Path, server: MillUp, kube: Kube, mill: Mill, url: str, space: str) -> None:
        self.root, self.server, self.kube, self.mill, self.url, self.space = root, server, kube, mill, url, space
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        self.kube.kubectl("create", "namespace", self.space)
        self.mill.ok("site", "add", "lab")
        secret = self.mill.ok("compute", "token", "--site", "lab", "--json").json["secret"]
        (self.root / "token").touch(0o600)
        (self.root / "token").write_text(secret)
        (self.root / "volume").mkdir()
        self.mill.ok("volume", "add", "near", str(self.root / "volume"), "--site", "lab")
        self.start_agent()
        wait_until(self.classes, within=WITHIN, what="storage classes")

    def start_agent(self) -> None:
        command = ["nsenter", f"--net={self.kube.network}", sys.executable, "-m", "millpond", "agent"]
        command += ["--server", self.url, "--token-file", str(self.root / "token"), "--site", "lab"]
        command += ["--node", "cluster", "--state-dir", str(self.root / "state"), "--driver", "kubernetes"]
        for option in (
            f"kubeconfig={self._kubeconfig()}",
            f"namespace={self.space}",
            f"image={IMAGE}",
            f"workspace_image={MILLPOND}",
            f"mount={self.root}=host",
        ):
            command += ["--option", option]
        with (self.root / "agent.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(self.root / "nobody"))

    def _kubeconfig(self) -> Path:
        """As from within the cluster."""
        inside, told = self.root / "kubeconfig", self.kube.kubeconfig.read_text()
        inside.write_text(re.sub(r'server: "[^"]*"', 'server: "https://10.96.0.1:443"', told))
        return inside

    def kill_agent(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def classes(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self.mill.ok("workspace", "classes", "--json").json["items"]}

    def show(self, name: str) -> dict[str, Any]:
        return dict(self.mill.ok("workspace", "show", name, "--json").json)

    def ready(self, name: str) -> dict[str, Any]:
        def state() -> dict[str, Any] | None:
            found = self.show(name)
            assert found["state"] != "failed", found["problem"]
            return found if found["state"] == "ready" else None

        found = wait_until(state, within=WITHIN, what=f"{name} ready")
        assert found
        return found

    def snapshots(self, name: str) -> dict[str, dict[str, Any]]:
        found = self.mill.ok("workspace", "snapshots", name, "--json").json["items"]
        return {one["name"]: one for one in found}

    def kept(self, name: str, snapshot: str) -> dict[str, Any]:
        def one() -> dict[str, Any] | None:
            found = self.snapshots(name)[snapshot]
            assert found["state"] != "failed", found["problem"]
            return found if found["state"] == "kept" and found["taken_at"] else None

        found = wait_until(one, within=WITHIN, what=f"{name}@{snapshot} kept")
        assert found
        return found

    def run(self, workspace: str, script: str, *more: str) -> str:
        """What a job printed that has the workspace at /w."""
        asked = ("submit", "--json", "--no-code", "--workspace", f"{workspace}:/w", *more, "--", "sh", "-c", script)
        job_id = self.mill.ok(*asked).json["id"]

        def ended() -> dict[str, Any] | None:
            job: dict[str, Any] = self.mill.ok("get", job_id, "--json").json
            return job if job["state"] in ("succeeded", "failed", "cancelled") else None

        job = wait_until(ended, within=WITHIN, what="the end of the job")
        log = self.mill.ok("logs", job_id).out
        assert job and job["state"] == "succeeded", (job, log)
        return log

    def objects(self, kinds: str = "pvc,jobs") -> set[str]:
        """Of workspaces, by kind and name."""
        found = self.kube.kubectl("-n", self.space, "get", kinds, "-l", "millpond.dev/workspace", "-o", "name")
        return set(found.split())

    def claims(self) -> list[dict[str, Any]]:
        found = self.kube.kubectl("-n", self.space, "get", "pvc", "-l", "millpond.dev/workspace", "-o", "json")
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items


@contextmanager
def ending(site: ClaimSite) -> Iterator[ClaimSite]:
    try:
        yield site
    finally:
        if site.process is not None:
            site.kill_agent()
        site.kube.kubectl("delete", "namespace", site.space, "--wait=false")
