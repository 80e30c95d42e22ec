"""The clock of a machine that nobody can set, and the time of day counted on by it."""

from __future__ import annotations

import time
from functools import cache

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@cache
def boot_id() -> str:
    """Which start of the machine this is. No process lives to see another."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def boot_time() -> float:
    """Seconds since the machine started, sleep included; nobody can set this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def time_of_day(spec: dict[str, Any]) -> float:
    """By the server's clock as it stood when the placement was prepared here, counted on by the boot-time clock: so no
    clock that is wrong, or is set while the command runs, moves its beginning, its end and its samples. On another
    machine than the agent's, by its own clock."""
    epoch, boot = spec.get("epoch") or (0.0, None)
    return epoch + boot_time() if boot == boot_id() else time.time()
