"""Two sites without a common mount, with real agents and a real server in the process of the test."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer
from millpond.testing.waiting import wait_until

FILES = {f"{n % 7}/{n:03d}": random.Random(n).randbytes(100_000) for n in range(50)}


def skip_without_mounts() -> None:
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody have mounts of their own (unshare -m)")


class PeerSites:
    """Agents of two sites, each with a volume that the other does not see; the first serves its own.

    Each agent is started within what `around` gives for its site.
    """

    def __init__(
        self,
        root: Path,
        server: RunningServer,
        stack: ExitStack,
        around: Callable[[str], AbstractContextManager[None]] = lambda _site: nullcontext(),
    ) -> None:
        self.server, self.root, self._stack = server, root, stack
        self._port = _free_port()
        for site in ("berlin", "paris"):
            (root / site).mkdir()
        for site in ("berlin", "paris"):
            added = add_agent(server.deps.db, f"gpu-{site}", site=site, now=server.deps.clock.now(), seen=False)
            (root / f"{site}.token").touch(0o600)
            (root / f"{site}.token").write_text(added.token)
            with around(site):
                self._start(site, *(("--listen", f"127.0.0.1:{self._port}") if site == "berlin" else ()))
            self.ask("POST", "/volumes", json={"name": site, "path": str(root / site), "site": site})
        wait_until(
            lambda: all(self.ask("GET", f"/volumes/{site}")["connected"] for site in ("berlin", "paris")),
            what="both volumes", within=60,
        )  # fmt: skip
        self.ask("PUT", "/sites/berlin", json={"address": f"127.0.0.1:{self._port}"})
        self.ask("PUT", "/links/berlin/paris", json={"bits_per_second": 25 * 10**9})
        for site in ("berlin", "paris"):
            self.ask("PUT", f"/links/lake/{site}", json={"bits_per_second": 10**6})

    def _start(self, site: str, *more: str) -> None:
        command = [sys.executable, "-m", "millpond", "agent", "--server", self.server.url, "--node", f"gpu-{site}"]
        command += ["--token-file", str(self.root / f"{site}.token"), "--state-dir", str(self.root / f"state-{site}")]
        log = self._stack.enter_context((self.root / f"{site}.log").open("ab"))
        # Each sees the other's volume as a directory that is not there.
        hidden = self.root / ("paris" if site == "berlin" else "berlin")
        script = f"mount -t tmpfs none {hidden} && exec " + " ".join(map(str, [*command, *more]))
        process = self._stack.enter_context(subprocess.Popen(["unshare", "-m", "sh", "-c", script], stderr=log))
        self._stack.callback(process.kill)

    def ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self.server.admin.request(method, path, **options)
        assert answer.is_success, answer.text
        return dict(answer.json()) if answer.content else {}

    def cache(self, commit: str, volume: str) -> tuple[Path, list[str]]:
        """Where the commit is once it is there, and why its bytes came from where they came."""
        asked = self.request(commit, volume)
        self.wait(asked)
        return Path(asked["cached"]["path"]), asked["reasons"]

    def request(self, commit: str, volume: str) -> dict[str, Any]:
        return self.ask("POST", "/caches", json={"dataset": commit, "volume": volume})

    def wait(self, asked: dict[str, Any]) -> None:
        ready = f"/caches/{asked['cached']['id']}"
        wait_until(lambda: self.ask("GET", ready)["state"] == "ready", what="the fill", within=60)

    def sources(self, commit: str, volume: str) -> dict[str, int]:
        """What each source gave to the volume."""
        found = self.ask("GET", "/cache-why", params={"dataset": commit})["volumes"]
        cached = next(one["cached"] for one in found if one["volume"] == volume)
        return {one["name"]: one["bytes"] for one in cached["sources"]}

    def bandwidth(self, volume: str) -> set[str]:
        return {one["source"] for one in self.ask("GET", f"/volumes/{volume}/usage")["bandwidth"]}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
