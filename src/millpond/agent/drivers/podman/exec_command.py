"""Runs `podman exec` as somebody at a terminal would, and ends what that started: Podman itself lets it go on.

One file of standard-library Python, run in a session of its own as
`python -I -S exec_command.py tty|pipes MARK podman … exec … --env=MILL_BESIDE=MARK …`.
"""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import FrameType

VARIABLE = "MILL_BESIDE"
# How long what runs there may take to end by itself; whoever ends this waits twice as long.
LEAVE_SECONDS = 1.0


class Gone(Exception):
    """Nobody is at the other end any more."""


def run(command: list[str], mark: str) -> int:
    """Its exit status, as a shell tells it."""
    child = subprocess.Popen(command)
    try:
        code = child.wait()
    except Gone:
        end(mark)
        child.kill()
        code = child.wait()
    return code if code >= 0 else 128 - code


def end(mark: str) -> None:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from keeper import processes  # type: ignore[import-not-found]  # noqa: PLC0415  (beside the drivers)

    processes.send_signal(processes.with_variable(VARIABLE, mark), signal.SIGHUP)
    deadline = time.monotonic() + LEAVE_SECONDS
    while (left := processes.with_variable(VARIABLE, mark)) and time.monotonic() < deadline:
        time.sleep(0.05)  # they are nobody's children here: the kernel tells of no end
    processes.send_signal(left, signal.SIGKILL)


def leave(_number: int, _frame: FrameType | None) -> None:
    raise Gone


def main() -> None:
    how, mark, *command = sys.argv[1:]
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, leave)
    if how == "tty":
        # Only the terminal that is the session's own tells of its new size.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.exit(run(command, mark))


if __name__ == "__main__":
    main()
