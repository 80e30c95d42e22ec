"""The process driver: every job is a process tree under its keeper, on the machine of the agent."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from millpond.agent import enter_job
from millpond.agent.drivers import Capabilities, Lost, NotStarted, Running, Status, gangs, records
from millpond.agent.drivers.process.keepers import Keepers
from millpond.agent.drivers.process.ports import listening_at
from millpond.agent.isolation import Isolation, cgroups, groups_of
from millpond.agent.keeper import processes
from millpond.agent.keeper.clock import boot_id
from millpond.agent.keeper.gang import LOOPBACK
from millpond.agent.keeper.processes import Process
from millpond.agent.spec import keeper_directory, rank_directories, read_spec
from millpond.wire.observed import NodeFacts

log = logging.getLogger(__name__)


class ProcessDriver:
    """See `Driver` for the contract; the files it reads are written by the keeper."""

    def __init__(self, nodes: Sequence[NodeFacts] = (), isolation: Isolation | None = None) -> None:
        self._nodes = nodes
        self._isolation = isolation or Isolation()
        self._keepers = Keepers()
        # Whose placement it is never changes; asked ten times a second, it is worth remembering.
        self._owners: dict[Path, dict[str, Any]] = {}

    @property
    def name(self) -> str:
        return "process"

    @property
    def look_seconds(self) -> None:
        return None

    def nodes(self) -> Sequence[NodeFacts]:
        return self._nodes

    def look(self) -> None:
        """Everything is in the placements' directories and in /proc."""

    def capabilities(self) -> Capabilities:
        limits = self._isolation.limits
        return Capabilities(
            gangs=True,
            mpi=True,
            services=True,
            routers=True,
            ports=True,
            exec=True,
            limits_enforced=limits is not None and limits.has_memory,
            shared_trust=self._isolation.accounts is None,
            io_limits=limits.io.by if limits and limits.io else None,
        )

    def start(self, directory: Path) -> None:
        if (directory / "claim").exists():
            return
        spec = read_spec(directory)
        if spec is None:
            raise OSError(f"{directory} has no job to start")
        self._isolation.prepare(directory, gangs.whole(spec))
        keepers = gangs.lay_out(directory, spec, address=LOOPBACK) if spec.ranks else [directory]
        for one in keepers:
            if records.owner(one) is None:
                self._keepers.start(one)

    def status(self, directory: Path) -> Status:
        ranks = rank_directories(directory)
        if ranks:
            return _together(directory, ranks)
        owner = self._owners.get(directory) or records.owner(directory)
        if owner is None:
            return NotStarted()
        self._owners[directory] = owner
        # Looked at before exit.json is: a keeper writes that file and only then leaves.
        alive = _is_kept(owner)
        ended = records.exited(directory, ranks)
        if ended is not None:
            self._owners.pop(directory, None)
            return ended
        started_at = records.started_at(directory, ranks)
        if alive:
            return Running(started_at)
        return _lost(directory, owner, started_at)

    def stop(self, directory: Path) -> None:
        records.ask_to_stop(directory)

    def forget(self, directory: Path) -> None:
        """Its control groups, and in them whatever may have outlived its keeper."""
        groups = groups_of(directory)
        cgroups.kill(groups)
        cgroups.remove(groups)

    def enter(self, directory: Path, command: Sequence[str], *, tty: bool, rank: int = 0) -> Sequence[str]:
        place = str(keeper_directory(directory, rank))
        return [sys.executable, "-I", "-S", enter_job.__file__, place, "tty" if tty else "pipes", *command]

    def address(self, directory: Path, port: int) -> tuple[str, int]:
        host = listening_at(port, self._processes(directory))
        if host is None:
            raise OSError(f"No process of the job listens on port {port}.")
        return host, port

    def _processes(self, directory: Path) -> set[int]:
        """All of the placement, whatever they did to their environment or their parents."""
        owners = [owner for one in rank_directories(directory) or [directory] if (owner := records.owner(one))]
        below = [one for owner in owners if processes.is_running(owner) for one in processes.descendants(owner["pid"])]
        found = {process.pid for process in (*below, *processes.marked(directory.name))}
        return found | cgroups.processes(groups_of(directory))


def _together(directory: Path, ranks: Sequence[Path]) -> Status:
    """How a distributed job stands, whose keepers all run here."""
    owners = [records.owner(one) for one in ranks]
    # Looked at before exit.json is, as of a plain one.
    alive = [owner is not None and _is_kept(owner) for owner in owners]
    ended = records.exited(directory, ranks)
    if ended is not None:
        return ended
    # Of those that were there at that look: a rank that came since then runs.
    lost = [
        owner
        for one, owner, lives in zip(ranks, owners, alive, strict=True)
        if owner is not None and not lives and records.exited(one) is None
    ]
    if records.owner(directory) is None:
        if lost or any(records.exited(one) for one in ranks):
            records.give_up(directory)
        return NotStarted()
    started_at = records.started_at(directory, ranks)
    if not lost:
        return Running(started_at)
    records.ask_to_stop(directory)
    return Running(started_at) if any(alive) else _lost(directory, lost[0], started_at)


def _is_kept(owner: dict[str, Any]) -> bool:
    """By its keeper; or by the guard of one that was killed, which leaves when nothing of the job is left."""
    return processes.is_running(owner) or ("guard" in owner and processes.is_running(owner["guard"]))


def _lost(directory: Path, owner: dict[str, Any], started_at: datetime | None) -> Status:
    """The keeper is gone without an exit record. The command died with it, but what that one started may live on."""
    if owner["boot"] != boot_id():
        return Lost("The machine restarted while the job ran.", started_at)
    groups, left = groups_of(directory), _left(directory)
    if left or cgroups.processes(groups):
        log.warning("keeper lost, killing its processes: placement=%s", directory.name)
        cgroups.kill(groups)
        processes.send_signal(left, signal.SIGKILL)
        return Running(started_at)
    return Lost("The keeper of the job was killed.", started_at)


def _left(directory: Path) -> list[Process]:
    """What is known to be of the placement by its environment, or by the sessions of its commands: some programs start
    others with an environment of their own making."""
    commands = [found for one in rank_directories(directory) or [directory] if (found := records.command(one))]
    in_sessions = [one for command in commands for one in processes.in_session(command)]
    return [*processes.marked(directory.name), *in_sessions]
