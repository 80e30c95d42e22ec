"""Model servers on this machine, each pinned to a core: to compare one with two, and local with shared files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import Invalid, SetupError

_READY_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """A server that is measured. `ready_seconds` is None where it ran before."""

    http: str
    grpc: str
    token: str | None = None
    ready_seconds: float | None = None
    pid: int | None = None

    def url(self, protocol: str) -> str:
        return self.http if protocol == "http" else self.grpc


@contextmanager
def started_servers(model: str, folder: Path, count: int, scratch: Path) -> Iterator[Sequence[MeasuredServer]]:
    """`count` servers of the model in `folder`, started one after the other, ended with the block."""
    cores = sorted(os.sched_getaffinity(0))
    if count > len(cores):
        raise Invalid(
            f"{count} servers need {count} cores, and this machine has {len(cores)}.",
            hint="Two servers that share a core say nothing about two servers.",
        )
    with ExitStack() as stack:
        yield [stack.enter_context(_started(model, folder, core, scratch)) for core in cores[:count]]


@contextmanager
def _started(model: str, folder: Path, core: int, scratch: Path) -> Iterator[MeasuredServer]:
    ready, log = scratch / f"ready-{core}.json", scratch / f"server-{core}.log"
    ready.unlink(missing_ok=True)
    command = [
        sys.executable, "-m", "millpond.serve", "--model", f"{model}={folder}", "--host", "127.0.0.1",
        "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0",
        "--ready-file", str(ready), "--drain-seconds", "0",
    ]  # fmt: skip
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(["taskset", "-c", str(core), *command], stdout=output, stderr=subprocess.STDOUT)
    try:
        said = _wait(process, ready, log)
        seconds = time.monotonic() - began
        yield MeasuredServer(_address(said["http"]), _address(said["grpc"]), None, seconds, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, str]:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        if ready.exists():
            found: dict[str, str] = json.loads(ready.read_text())
            return found
        if process.poll() is not None:
            break
        time.sleep(0.02)
    last = "".join(log.read_text(errors="replace").splitlines(keepends=True)[-5:]).strip()
    raise SetupError(f"The model server did not become ready: {last or 'it said nothing'}")


def _address(said: str) -> str:
    """`tcp:host:port` as the ready file has it → `host:port`."""
    return said.removeprefix("tcp:")
