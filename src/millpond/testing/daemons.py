"""What starting and ending foreign programs for tests has in common."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path


def find_program(name: str) -> Path | None:
    """That of the wheel beside this Python, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return Path(found) if found else None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def end(process: subprocess.Popen[bytes], patience: float = 10.0) -> None:
    """Ask it to end; kill it when it does not."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
