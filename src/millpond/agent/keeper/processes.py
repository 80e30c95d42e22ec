"""The processes of this machine as /proc tells of them: each known by pid, start time and boot id."""

from __future__ import annotations

import os

from .clock import boot_id

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """One line of /proc/PID/stat: state, parent, session, start time and CPU seconds (with those of children it waited
    for)."""

    __slots__ = ("children_cpu", "own_cpu", "parent", "pid", "session", "start", "state")

    def __init__(
        self, pid: int, state: str, parent: int, session: int, start: int, own_cpu: float, children_cpu: float
    ) -> None:
        self.pid, self.state, self.parent, self.session, self.start = pid, state, parent, session, start
        self.own_cpu, self.children_cpu = own_cpu, children_cpu

    @property
    def is_alive(self) -> bool:
        """A zombie has ended; only its exit status is waiting to be read."""
        return self.state not in ("Z", "X", "x")


def read_process(pid: int) -> Process | None:
    """The process `pid`, or None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in brackets and may itself hold spaces and brackets.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        start=int(fields[19]),
        own_cpu=(int(fields[11]) + int(fields[12])) / _TICKS,
        children_cpu=(int(fields[13]) + int(fields[14])) / _TICKS,
    )


def identity(pid: int) -> dict[str, Any]:
    """What tells this process from any other, before and after: pid, start time, boot id."""
    process = read_process(pid)
    return {"pid": pid, "start": process.start if process else 0, "boot": boot_id()}


def is_running(identity: dict[str, Any]) -> bool:
    """Whether exactly this process still runs."""
    process = read_process(identity["pid"])
    return (
        identity["boot"] == boot_id()
        and process is not None
        and process.start == identity["start"]
        and process.is_alive
    )


def all_processes() -> list[Process]:
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process is not None]


def descendants(root: int) -> list[Process]:
    """Every process below `root`, by a walk over all of /proc: complete, whoever started them."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            found.append(process)
            waiting.append(process.pid)
    return found


def marked(placement: str) -> list[Process]:
    """Every process whose environment says it belongs to `placement`: what is left when its keeper was killed."""
    return with_variable("MILL_PLACEMENT", placement)


def with_variable(name: str, value: str) -> list[Process]:
    """Every process that was started with this in its environment."""
    marker = f"{name}={value}".encode()
    found = []
    for process in all_processes():
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                if marker in file.read().split(b"\0") and process.is_alive:
                    found.append(process)
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


def in_session(leader: dict[str, Any]) -> list[Process]:
    """Every process of the session that this one began and that is alive, whether it is itself or not.

    As long as there are any, its number is nobody else's; one that has it and began at another time leads another.
    """
    found = [one for one in all_processes() if one.session == leader["pid"] and one.is_alive]
    is_another = any(one.pid == leader["pid"] and one.start != leader["start"] for one in found)
    return [] if is_another or leader["boot"] != boot_id() else found


def send_signal(processes: Iterable[Process], number: int) -> None:
    for process in processes:
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone, or become somebody else's by a set-user-id program: it stays, and is seen to
