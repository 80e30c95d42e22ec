"""A control group around each container with the limit of its memory, from which one can tell that it was reached.

Podman tells that itself where systemd makes its groups. Where Podman makes them (no systemd, version 1 of control
groups) it does not, and the container's own group is gone when its end is known; the one around it is not.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PARENT = "millpond-podman"
_TOP = Path("/sys/fs/cgroup")
_LIMIT, _MOST, _FAILED = "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"


def make_group(placement: str, memory_bytes: int) -> str | None:
    """The group to put the container into; None where there is no need or no way."""
    top = _TOP / "memory"
    if not memory_bytes or os.geteuid() != 0 or not (top / _LIMIT).exists():
        return None
    group = top / PARENT / placement
    group.mkdir(parents=True, exist_ok=True)
    (group / _LIMIT).write_text(str(memory_bytes))
    return f"/{PARENT}/{placement}"


def was_full(placement: str) -> bool:
    """Whether the container has asked for memory that there was not."""
    group = _TOP / "memory" / PARENT / placement
    try:
        limit, most, failed = (int((group / name).read_text()) for name in (_LIMIT, _MOST, _FAILED))
    except FileNotFoundError:
        return False
    return failed > 0 and most >= limit


def remove_group(placement: str) -> None:
    """In every hierarchy, and with what Podman has made below it."""
    for group in _TOP.glob(f"*/{PARENT}/{placement}"):
        with suppress(OSError):  # a process that has just ended; an empty group costs nothing
            for path, _, _ in os.walk(group, topdown=False):
                Path(path).rmdir()
            group.parent.rmdir()
