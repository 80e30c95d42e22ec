"""A site whose agents are of several drivers, each beside a real engine, at one server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from millpond.agent.keeper.processes import marked
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill


class EngineSite:
    """The site `lab` with a volume; its agents end with the stack, and what they run."""

    def __init__(self, root: Path, server: MillUp, mill: Mill, stack: ExitStack) -> None:
        self.root, self.server, self.mill, self._stack = root, server, mill, stack
        (root / "volume").mkdir()
        mill.ok("site", "add", "lab")
        mill.ok("volume", "add", "near", str(root / "volume"), "--site", "lab")

    def agent(
        self, name: str, *options: str, before: tuple[str, ...] = (), url: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        token = self.root / f"{name}.token"
        token.touch(0o600)
        token.write_text(self.mill.ok("compute", "token", "--site", "lab", "--json").json["secret"])
        command = [*before, sys.executable, "-m", "millpond", "agent", "--server", url or self.server.url]
        command += ["--node", name, "--token-file", str(token), "--state-dir", str(self.root / name), *options]
        log = self._stack.enter_context((self.root / f"{name}.log").open("ab"))
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**environment(self.root / "nobody"), **(variables or {})}
        )
        self._stack.callback(self._end, process, self.root / name)
        wait_until(lambda: self._is_there(name), within=120, what=f"the nodes of {name}")

    def _is_there(self, name: str) -> bool:
        shown = self.mill("compute", "show", name, "--json")
        return shown.code == 0 and bool(json.loads(shown.out)["nodes"])

    @staticmethod
    def _end(process: subprocess.Popen[bytes], state: Path) -> None:
        process.kill()
        process.wait()
        for path in state.glob("placements/*"):
            for one in marked(path.name):
                os.kill(one.pid, signal.SIGKILL)


@contextmanager
def skipped(problem: str | None) -> Iterator[None]:
    if problem:
        pytest.skip(problem)
    yield
