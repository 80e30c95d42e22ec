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
from millpond.testing.seaweed import CREDENTIALS, Seaweed

MILL = Path(sys.executable).with_name("mill")


@dataclass(frozen=True, slots=True)
class Mill:
    """The command line, signed in as the administrator of a server of its own."""

    environment: dict[str, str]
    server: psutil.Process

    def run(self, *words: str, cwd: Path) -> Measured:
        return run([MILL, *words], cwd=cwd, env=self.environment)

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
def running_mill(work: Path, seaweed: Seaweed | None) -> Iterator[Mill]:
    """Server, agent and credentials live below `work` and end with the block; without a store the lake does, too."""
    environment = {
        **CREDENTIALS,
        "MILL_HOME": str(work / "home"),
        "MILL_ADMIN_PASSWORD": "only for a benchmark",
        "PYTHONWARNINGS": "ignore",
    }
    log = work / "server.log"
    command = [str(MILL), "up", "--data-dir", str(work / "server")]
    if seaweed is not None:
        command += ["--lake", seaweed.url("millpond")]
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
