"""The agent's own directory: one agent at a time, and one directory per placement."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.agent.keeper.processes import identity
from millpond.agent.spec import write_private
from millpond.errors import SetupError

LOCK_SECONDS = 3.0


@contextmanager
def locked_state(directory: Path, patience: float = LOCK_SECONDS) -> Iterator[Path]:
    """Own `directory` until the end of the process. SetupError names the agent that has it already.

    An agent whose server was restarted may still be ending when the next one starts: it is waited for a little.
    The lock belongs to the open file, so it ends with the process however that ends; keepers do not inherit it.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _lock(descriptor, patience):
            raise SetupError(
                f"Another agent (process {_owner(directory)}) uses the state directory {directory}.",
                hint="Stop that agent, or use another directory with --state-dir.",
            )
        placements_of(directory).mkdir(mode=0o700, exist_ok=True)
        write_private(directory / "agent.json", json.dumps(identity(os.getpid())))
        yield directory
    finally:
        os.close(descriptor)


def _lock(descriptor: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def placements_of(directory: Path) -> Path:
    return directory / "placements"


def _owner(directory: Path) -> str:
    try:
        return str(json.loads((directory / "agent.json").read_bytes())["pid"])
    except (OSError, ValueError, KeyError):
        return "unknown"
