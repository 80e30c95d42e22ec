"""What starting and ending foreign programs for tests has in common."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

# Rows of ports, four each; processes without workers, as benchmarks, begin at different ones.
_ROW, _ROWS = 4, 500
_row = itertools.count(os.getpid() * 61)


def find_program(name: str) -> Path | None:
    """That of the wheel beside this Python, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return Path(found) if found else None


def free_port(count: int = 1) -> int:
    """The first of `count` ports in a row, four at most, that nobody has.

    Below those that the kernel gives to connections, and not the same again for long: what starts there a while later
    finds it free. Each worker of pytest-xdist has a range of its own.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw4").removeprefix("gw")
    base = 12000 + _ROW * _ROWS * (int(worker) % 5)
    for row in itertools.islice(_row, _ROWS):
        first = base + _ROW * (row % _ROWS)
        if all(_is_free(first + more) for more in range(count)):
            return first
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    try:
        with socket.create_server(("127.0.0.1", port)):
            return True
    except OSError:
        return False


def end(process: subprocess.Popen[bytes], patience: float = 10.0) -> None:
    """Ask it to end; kill it when it does not."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
