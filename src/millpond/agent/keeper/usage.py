"""What a job uses of its machine: samples of its process tree, a line each."""

from __future__ import annotations

import json
import os
import time

from .clock import time_of_day
from .processes import Process, read_process

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIRST_SAMPLE_SECONDS = 0.5
SAMPLE_SECONDS = 2.0

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage:
    """Samples CPU, memory and block I/O of everything below the keeper, and the network it sees; a line each."""

    def __init__(self, path: str, command: int, spec: dict[str, Any]) -> None:
        self.path, self.command, self.spec = path, command, spec
        self.network_shared = not spec.get("image")
        self.network_before = _network(command)
        self.due = time.monotonic() + FIRST_SAMPLE_SECONDS
        self.before = time.monotonic()
        self.cpu = 0.0
        self.read = self.written = 0
        self.own_read, self.own_written = _io(os.getpid())

    def sample_when_due(self) -> None:
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + SAMPLE_SECONDS
        line = json.dumps(self.sample(now)) + "\n"
        try:
            with open(self.path, "a") as file:
                file.write(line)
        except OSError:
            return  # the disk is full: the command goes on without a sample

    def sample(self, now: float) -> dict[str, Any]:
        keeper = read_process(os.getpid())
        # Whoever has ended is counted with the parent that waited for it, so sums only grow (but for a process that
        # let its children go unwaited: then the greatest sum seen stands).
        cpu, memory = keeper.children_cpu if keeper else 0.0, 0
        read, written = _io(os.getpid())
        read, written = read - self.own_read, written - self.own_written
        for process in _tree(os.getpid()):
            cpu += process.own_cpu + process.children_cpu
            memory += _resident(process.pid)
            more_read, more_written = _io(process.pid)
            read, written = read + more_read, written + more_written
        percent = 100 * max(0, cpu - self.cpu) / max(now - self.before, 0.001)
        self.cpu, self.before = max(cpu, self.cpu), now
        self.read, self.written = max(read, self.read), max(written, self.written)
        received, sent = _network(self.command)
        return {
            "at": time_of_day(self.spec),
            "cpu_percent": round(percent, 1),
            "memory_bytes": memory,
            "read_bytes": self.read,
            "write_bytes": self.written,
            "received_bytes": max(0, received - self.network_before[0]),
            "sent_bytes": max(0, sent - self.network_before[1]),
            "network_shared": self.network_shared,
        }


def _tree(root: int) -> list[Process]:
    """Living processes below `root` by the kernel's lists of children: cheap, and good enough for a sample."""
    found: list[Process] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    waiting.extend(int(child) for child in file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
        process = read_process(pid) if pid != root else None
        if process is not None and process.is_alive:
            found.append(process)
    return found


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _network(pid: int) -> tuple[int, int]:
    """Bytes received and sent by all interfaces but the loopback of the network that `pid` sees."""
    try:
        with open(f"/proc/{pid}/net/dev") as file:
            lines = file.readlines()[2:]
    except OSError:
        return 0, 0
    fields = [line.partition(":")[2].split() for line in lines if not line.lstrip().startswith("lo:")]
    return sum(int(one[0]) for one in fields), sum(int(one[8]) for one in fields)


def _io(pid: int) -> tuple[int, int]:
    try:
        with open(f"/proc/{pid}/io") as file:
            fields = dict(line.split(": ") for line in file)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0, 0
    return int(fields["read_bytes"]), int(fields["write_bytes"])
