"""Control groups: one per placement, with the limits that were asked for, so that nothing of it can escape them.

Both versions are known. Version 1 has a hierarchy for each controller, version 2 one for all; a placement has a
directory in each hierarchy that counts, known by its paths from then on.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.isolation.io_group import IoGroup

log = logging.getLogger(__name__)

PARENT = "millpond"
# More processes and threads than any honest job has; fewer than a machine can bear.
MOST_PROCESSES = 32_768
# Weights are relative; this much for a job that asked for no CPU, and for each one that was asked for.
_SHARES = 1024
_WEIGHT = 100
_REMOVE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class CgroupLimits:
    """What was asked for; 0 for no limit."""

    cpu: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The directories below which placements get theirs: by controller in version 1, under "" in version 2.

    `io` limits the disk accesses of all of them together; None where the kernel does not.
    """

    parents: Mapping[str, Path]
    io: IoGroup | None = None

    @property
    def has_memory(self) -> bool:
        return "memory" in self.parents or "" in self.parents

    def make(self, placement: str, limits: CgroupLimits) -> tuple[str, ...]:
        """The directories of the placement, made with its limits. OSError where the kernel does not take them."""
        made: list[str] = []
        for controller, parent in self.parents.items():
            directory = parent / placement
            if not controller:
                _open_group(parent)
            directory.mkdir(parents=True, exist_ok=True)
            for name, value in _settings(controller, limits).items():
                (directory / name).write_text(value)
            made.append(str(directory))
        return tuple(made)


def find(mounts: str | None = None, own: str | None = None, *, agent: str = "agent") -> Cgroups | None:
    """Where this process may make groups; None if it may not. `agent` tells agents of one machine apart.

    The other arguments stand for files of /proc in tests.
    """
    hierarchies = dict(_hierarchies(mounts if mounts is not None else Path("/proc/mounts").read_text()))
    paths = dict(_own_paths(own if own is not None else Path("/proc/self/cgroup").read_text()))
    old: dict[str, Path] = {
        name: _below(hierarchies[name], paths.get(name, "/")) / PARENT
        for name in ("memory", "cpu", "pids", "freezer")
        if name in hierarchies
    }
    parents = {name: path for name, path in old.items() if _can_make(path)}
    if parents:
        io = _below(hierarchies["blkio"], paths.get("blkio", "/")) / PARENT if "blkio" in hierarchies else None
        return Cgroups(parents, IoGroup(io / agent, "blkio") if io and _can_make(io) else None)
    return _version_2(hierarchies[""], paths.get("", "/"), agent) if "" in hierarchies else None


def processes(directories: Iterable[str]) -> set[int]:
    """All that run in these groups."""
    found: set[int] = set()
    for directory in directories:
        with suppress(OSError):  # removed meanwhile
            found.update(int(line) for line in Path(directory, "cgroup.procs").read_text().split())
    return found


def kill(directories: Sequence[str]) -> None:
    """End all that run in these groups, at once: none of them gets the time to start another."""
    for directory in map(Path, directories):
        if (directory / "cgroup.kill").exists():
            (directory / "cgroup.kill").write_text("1")
            return
    frozen = [path for path in map(Path, directories) if (path / "freezer.state").exists()]
    for directory in frozen:
        (directory / "freezer.state").write_text("FROZEN")
    for pid in processes(directories):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for directory in frozen:
        (directory / "freezer.state").write_text("THAWED")


def remove(directories: Sequence[str]) -> None:
    """What is empty goes. A process that has just ended may take a moment to leave its group."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    for directory in map(Path, directories):
        while not _removed(directory) and time.monotonic() < deadline:
            time.sleep(0.01)


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            log.warning("cannot remove control group: %s %s", directory, error)
        return error.errno != errno.EBUSY
    with suppress(OSError):  # others are there
        directory.parent.rmdir()
    return True


def _settings(controller: str, limits: CgroupLimits) -> dict[str, str]:
    most = str(limits.memory_bytes)
    settings: dict[str, dict[str, str]] = {
        "memory": {"memory.limit_in_bytes": most} if limits.memory_bytes else {},
        "cpu": {"cpu.shares": str(_SHARES * max(1, limits.cpu))},
        "pids": {"pids.max": str(MOST_PROCESSES)},
        "": {
            **({"memory.max": most} if limits.memory_bytes else {}),
            "cpu.weight": str(min(10_000, _WEIGHT * max(1, limits.cpu))),
            "pids.max": str(MOST_PROCESSES),
        },
    }
    return settings.get(controller, {})


def _hierarchies(mounts: str) -> Iterator[tuple[str, Path]]:
    """Controllers and where they are mounted; version 2 under ""."""
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            yield "", Path(place)
        elif kind == "cgroup":
            yield from ((option, Path(place)) for option in options.split(","))


def _own_paths(text: str) -> Iterator[tuple[str, str]]:
    """The group of this process in each hierarchy."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        yield from ((name, path) for name in controllers.split(","))


def _below(root: Path, path: str) -> Path:
    """Inside a container the path may be the host's, and the mount show only what is below it."""
    found = root / path.lstrip("/")
    return found if found.is_dir() else root


def _version_2(root: Path, own: str, agent: str) -> Cgroups | None:
    """Below the nearest group that may have others: one with processes of its own may not, but for the root."""
    here = _below(root, own)
    for parent in dict.fromkeys((here, here.parent if here != root else root, root)):
        with suppress(OSError):
            group = parent / PARENT / agent
            _open_group(group)
            if _can_make(group):
                io = IoGroup(group, "io.max") if "io" in _controllers(parent) else None
                return Cgroups({"": group}, io)
    return None


def _open_group(group: Path) -> None:
    """Make the group of an agent, whose placements may have limits; again if it was removed when it was empty."""
    for one in (group.parent.parent, group.parent, group):
        one.mkdir(exist_ok=True)
        enabled = ["memory", "cpu", "pids", *(["io"] if "io" in _controllers(one) else [])]
        (one / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in enabled))


def _controllers(group: Path) -> list[str]:
    with suppress(OSError):
        return (group / "cgroup.controllers").read_text().split()
    return []


def _can_make(parent: Path) -> bool:
    tried = parent / f"probe-{os.getpid()}"
    try:
        tried.mkdir(parents=True)
        tried.rmdir()
    except OSError:
        return False
    with suppress(OSError):  # others are there
        parent.rmdir()
    return True
