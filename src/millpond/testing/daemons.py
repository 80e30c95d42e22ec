"""What starting and ending foreign programs for tests has in common."""

from __future__ import annotations

import socket
import subprocess


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
