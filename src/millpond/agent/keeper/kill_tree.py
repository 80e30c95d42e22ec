"""Ending everything that is below a keeper, and seeing that nothing is left."""

# ruff: noqa: PTH115

from __future__ import annotations

import os
import signal
import time

from .guard import GUARD_GONE
from .processes import descendants, send_signal

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .guard import Guard

# How long an engine may take to tell of a container that has ended.
CLIENT_SECONDS = 10.0


def end_tree(
    command: int, status: int | None, grace: float, *, client: bool, guard: Guard, relays: bool = False
) -> int:
    """SIGTERM to everything below the keeper, `grace` seconds, then SIGKILL until nothing is left alive.

    A command that is the `client` of an engine hands SIGTERM on to what it had started; the engine's own processes,
    which come to be below the keeper too, must not hear of it, and have time to tell how it ended. A process that
    forks while it is looked for is found in the next round: being the subreaper, the keeper inherits whatever loses
    its parent. A command that `relays` SIGTERM to its processes is told alone, too, as long as it lives: it may be one
    of those that kill theirs when they hear it. Without its guard the keeper gives no grace: an engine may take the job
    for ended.

    Returns the command's wait status.
    """
    deadline = time.monotonic() + grace
    told: set[tuple[int, int]] = set()
    while True:
        status, any_left = reap(command, status)
        if guard.is_gone:
            deadline, client = 0.0, False
        living = [process for process in descendants(os.getpid()) if process.is_alive] if any_left else []
        if not living and status is not None:
            return status
        if time.monotonic() < deadline:
            hearing = [
                process for process in living if not (client or (relays and status is None)) or process.pid == command
            ]
            fresh = [process for process in hearing if (process.pid, process.start) not in told]
            send_signal(fresh, signal.SIGTERM)
            send_signal(fresh, signal.SIGCONT)  # a stopped process must run to hear
            told.update((process.pid, process.start) for process in fresh)
        elif client and time.monotonic() < deadline + CLIENT_SECONDS:
            send_signal([process for process in living if is_inside(process.pid)], signal.SIGKILL)
        else:
            send_signal(living, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD, GUARD_GONE}, 0.05)


def is_inside(pid: int) -> bool:
    """Whether the process is in a container below the keeper."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def reap(command: int, status: int | None = None) -> tuple[int | None, bool]:
    """Wait for whoever has ended, without blocking; the wait status of `command` once known, and whether anybody is
    left: being the subreaper, a keeper without children has no descendants either."""
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, True
        if pid == command:
            status = ended
