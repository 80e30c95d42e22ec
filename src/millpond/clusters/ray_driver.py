"""Runs the command of a job as a driver of a Ray cluster, with the node beside it that Ray wants.

The agent puts it beside the job as one file (`ray_driver.pyz`), and has it start the job's command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from .folder import ServiceFolder, Unusable
from .ray_environment import ray_environment


def main() -> None:
    """`python3 ray_driver.pyz COMMAND …`; ends as the command does."""
    archive, command = Path(sys.argv[0]).resolve(), sys.argv[1:]
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, frame: stopping.set())
    try:
        status = _run(ServiceFolder(archive.parent), archive, command, stopping)
    except Unusable as error:
        sys.exit(f"error: {error}")
    if status < 0:
        with suppress(OSError):  # some cannot be handled, and need not be
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _run(folder: ServiceFolder, archive: Path, command: Sequence[str], stopping: threading.Event) -> int:
    ray_environment(folder)
    try:
        beside = import_module(".ray_beside", __package__).beside
    except ImportError as error:
        sys.stderr.write(
            f"{sys.executable} has no {error.name or error}: programs reach the cluster by Ray Client.\n"
        )  # fmt: skip
        return _command(command, os.environ, stopping)
    with beside(folder, stopping) as node_id:
        if node_id is None:
            return -signal.SIGTERM
        return _command(command, _environment(folder, archive, node_id), stopping)


def _environment(folder: ServiceFolder, archive: Path, node_id: str) -> dict[str, str]:
    """Of the command: the head's address in place of that for Ray Client, and which of this machine's nodes is its."""
    found = {**os.environ, "RAY_ADDRESS": folder.scheduler, "MILL_RAY_NODE": node_id}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, [found.get("PYTHONPATH"), str(archive)]))
    before = found.get("RAY_RUNTIME_ENV_HOOK")
    found |= {"MILL_RAY_HOOK": before} if before else {}
    return {**found, "RAY_RUNTIME_ENV_HOOK": f"{__package__}.ray_choice.hook"}


def _command(command: Sequence[str], env: Mapping[str, str], stopping: threading.Event) -> int:
    """Its status. SIGTERM goes to all that it started, and not to Ray's processes."""
    try:
        process = subprocess.Popen(command, env=env, preexec_fn=os.setpgrp)
    except OSError as error:
        raise Unusable(f"Cannot start {command[0]}: {error.strerror}.") from None
    ended = threading.Event()
    threading.Thread(target=_forward, args=(process, stopping, ended), daemon=True).start()
    status = process.wait()
    ended.set()
    return status


def _forward(process: subprocess.Popen[bytes], stopping: threading.Event, ended: threading.Event) -> None:
    stopping.wait()
    if not ended.is_set():
        os.killpg(process.pid, signal.SIGTERM)
