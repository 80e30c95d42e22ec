"""A real `mill up` for benchmarks: we are measured through the server, like any user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.measure import Measured, run
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.testing.seaweed import CREDENTIALS, Seaweed

MILL = Path(sys.executable).with_name("mill")


@dataclass(frozen=True, slots=True)
class Mill:
    """The command line, signed in as the administrator of a server of its own."""

    environment: dict[str, str]
    server: psutil.Process

    def run(self, *words: str, cwd: Path) -> Measured:
        return run([MILL, *words], cwd=cwd, env=self.environment)

    def api(self) -> Api:
        """The server, over HTTP like the command line; to be closed."""
        target = resolve_target(environ={**os.environ, **self.environment})
        return Api(target.server, target.token)

    @property
    def agent(self) -> psutil.Process:
        """The agent that the server has started."""
        [found] = [child for child in self.server.children() if "agent" in child.cmdline()]
        return found

    @property
    def agent_cpu_seconds(self) -> float:
        """Processor time of the agent so far, of its nursery, and of those of their processes that have ended."""
        family = [self.agent, *self.agent.children()]
        return float(sum(sum(process.cpu_times()[:4]) for process in family))

    @property
    def server_cpu_seconds(self) -> float:
        """Processor time of the server so far, without its agent."""
        used = self.server.cpu_times()
        return float(used.user + used.system)

    def say(self, *words: str, cwd: Path) -> str:
        done = subprocess.run(
            [MILL, *words], cwd=cwd, env={**os.environ, **self.environment}, capture_output=True, text=True, check=True
        )
        return done.stdout


@contextmanager
def running_mill(
    work: Path, seaweed: Seaweed | None, prefix: str = "millpond", *, database: str | None = None
) -> Iterator[Mill]:
    """Server, agent and credentials live below `work` and end with the block; without a store the lake does, too.

    The lake is that `prefix` of the store's bucket; `database` the URL of another one than a file below `work`.
    """
    environment = {
        **CREDENTIALS,
        "MILL_HOME": str(work / "home"),
        "MILL_ADMIN_PASSWORD": "only for a benchmark",
        "PYTHONWARNINGS": "ignore",
        # Mirrors write to a store on this machine.
        "MILL_IMPORT_HOSTS": "127.0.0.1",
        # As it is installed: compiled once, also where development has switched that off.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    log = work / "server.log"
    command = [str(MILL), "up", "--port", "0", "--data-dir", str(work / "server")]
    if seaweed is not None:
        command += ["--lake", seaweed.url(prefix)]
    if database is not None:
        command += ["--db", database]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **environment})
    try:
        environment["MILL_SERVER"] = _wait_until_ready(process, log)
        yield Mill(environment, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    while process.poll() is None:
        found = re.search(r"ready at (http://\S+)", log.read_text())
        if found:
            return found[1].rstrip("/")
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text()}")
