"""`mill up` as a process of its own, for tests that stop, kill and start it again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from millpond.agent.keeper.processes import marked, send_signal
from millpond.testing.waiting import wait_until
from millpond.testing.warm import Program, start

_READY = re.compile(r"ready at (https?://\S+)")
_START_SECONDS = 60.0


@dataclass
class MillUp:
    """A server that is ready. `home` is where its command line keeps credentials (MILL_HOME)."""

    url: str
    data_dir: Path
    home: Path
    process: Program
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text()

    def client(self) -> httpx.Client:
        """Signed in as the command line of this machine is."""
        credentials = json.loads((self.home / "credentials.json").read_text())
        headers = {"Authorization": f"Bearer {credentials['servers'][self.url]['token']}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, trust_env=False, timeout=30, verify=False)

    def stop(self) -> int:
        """Ask it to stop; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_START_SECONDS)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(_START_SECONDS)


def mill_up_command(data_dir: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "millpond", *_arguments(data_dir, *options)]


def _arguments(data_dir: Path, *options: str) -> list[str]:
    return ["up", "--data-dir", str(data_dir), *options]


def environment(home: Path) -> dict[str, str]:
    """The process's own, with a home for credentials and without anything of another server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MILL_")}
    # A range that is given is not claimed on this machine.
    return kept | {"MILL_HOME": str(home), "MILL_JOB_UIDS": "70000-99999"}


@contextmanager
def mill_up(data_dir: Path, *options: str, home: Path | None = None, cold: bool = False) -> Iterator[MillUp]:
    """A server on a free port, unless the options say otherwise; stopped with the block. A copy of a process that has
    everything loaded, where the tests' session makes such (warm.py), unless it is to be `cold`."""
    home = home or data_dir.with_name(f"{data_dir.name}-home")
    log = data_dir.with_name(f"{data_dir.name}.log")
    chosen = options if "--port" in options else ("--port", "0", *options)
    with log.open("wb") as output:
        process = start(_arguments(data_dir, *chosen), env=environment(home), output=output, cold=cold)
    try:
        yield MillUp(_wait_until_ready(process, log), data_dir, home, process, log)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(_START_SECONDS)
        end_services(data_dir)
        end_mounts(data_dir)


def end_mounts(data_dir: Path) -> None:
    """Overlays of workspaces outlive an agent that is killed: after a test none is left behind."""
    for line in Path("/proc/mounts").read_text().splitlines() if Path("/proc/mounts").exists() else ():
        place = Path(line.split()[1])
        if place.is_relative_to(data_dir):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)


def end_services(data_dir: Path) -> None:
    """Replicas and routers outlive their server on purpose: after a test none is left behind."""
    for placement in (data_dir / "agent" / "placements").glob("*/service"):
        send_signal(marked(placement.parent.name), signal.SIGKILL)


def _wait_until_ready(process: Program, log: Path) -> str:
    def url() -> str:
        found = _READY.search(log.read_text())
        assert found or process.poll() is None, f"the server did not start:\n{log.read_text()}"
        return found[1] if found else ""

    return wait_until(url, within=_START_SECONDS, what="the server's readiness")
