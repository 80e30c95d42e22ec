"""The service folder of a job of a cluster: what it was told, and what it tells (docs/design/027)."""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

READY = "ready.json"
STATS = "stats.json"
CLUSTER = "cluster.json"


class Unusable(Exception):
    """What the environment or the scheduler cannot do, in words for people."""


class ServiceFolder:
    """`cluster.json` is the agent's; `ready.json` and `stats.json` are this process's, and appear whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: dict[str, Any] = json.loads((path / CLUSTER).read_text())

    @classmethod
    def here(cls) -> ServiceFolder:
        return cls(Path(os.environ["MILL_SERVICE"]))

    @property
    def kind(self) -> str:
        return str(self.told["kind"])

    @property
    def role(self) -> str:
        return str(self.told["role"])

    @property
    def scheduler(self) -> str:
        """Where workers find it."""
        return str(self.told.get("scheduler") or "")

    def file(self, name: str) -> str:
        """The path of a certificate, key or token."""
        return str(self.path / name)

    def ready(self, **said: Any) -> None:
        self._write(READY, said)

    def stats(self, **said: Any) -> None:
        self._write(STATS, said)

    def fail(self, problem: str) -> None:
        """Tell why it cannot go on; its log says the same."""
        self._write(STATS, {"problem": problem})
        sys.stderr.write(f"{problem}\n")
        sys.stderr.flush()

    def has_moved(self) -> bool:
        """True if the scheduler is another one now than this worker was started with."""
        try:
            now = json.loads((self.path / CLUSTER).read_text())
        except (OSError, ValueError):
            return False
        return bool(now.get("scheduler")) and now.get("scheduler") != self.scheduler

    def _write(self, name: str, said: dict[str, Any]) -> None:
        temporary = self.path / f".{name}.new"
        temporary.write_text(json.dumps(said))
        temporary.replace(self.path / name)


def own_address() -> str:
    """Where other machines of the site reach this one. Nothing is sent to find out."""
    told = os.environ.get("MILL_ADDRESS")
    if told:
        return told
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation: only the route to it counts
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def cpus() -> int:
    """Of a worker: what its job reserves, or one."""
    return max(1, int(os.environ.get("MILL_CPUS", "1")))


def memory_bytes() -> int | None:
    """What its job reserves; None where it reserves nothing."""
    found = int(os.environ.get("MILL_MEMORY_BYTES", "0"))
    return found or None


def spill_directory() -> str:
    """On the site's volume where it has one, otherwise the job's own."""
    return os.environ.get("MILL_SCRATCH") or os.environ["TMPDIR"]
