"""The agent's own directory: one agent at a time, and one directory per placement."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.agent.keeper import identity
from millpond.agent.spec import write_private
from millpond.errors import SetupError


@contextmanager
def locked_state(directory: Path) -> Iterator[Path]:
    """Own `directory` until the end of the process. SetupError names the agent that has it already.

    The lock belongs to the open file, so it ends with the process however that ends; keepers do not inherit it.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"Another agent (process {_owner(directory)}) uses the state directory {directory}.",
                hint="Stop that agent, or give this one a directory of its own with --state-dir.",
            ) from None
        placements_of(directory).mkdir(mode=0o700, exist_ok=True)
        write_private(directory / "agent.json", json.dumps(identity(os.getpid())))
        yield directory
    finally:
        os.close(descriptor)


def placements_of(directory: Path) -> Path:
    return directory / "placements"


def _owner(directory: Path) -> str:
    try:
        return str(json.loads((directory / "agent.json").read_bytes())["pid"])
    except (OSError, ValueError, KeyError):
        return "unknown"
