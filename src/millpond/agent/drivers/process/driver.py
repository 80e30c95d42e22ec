"""The process driver: every job is a process tree under its keeper, on the machine of the agent."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from millpond.agent import keeper
from millpond.agent.drivers import Capabilities, Lost, NotStarted, Running, Status, records
from millpond.wire.agent import NodeFacts

log = logging.getLogger(__name__)


class ProcessDriver:
    """See `Driver` for the contract; the files it reads are written by the keeper."""

    def __init__(self, nodes: Sequence[NodeFacts] = ()) -> None:
        self._nodes = nodes
        # Keepers started by this agent, kept only to be waited for: an ended one must not stay a zombie.
        self._children: list[int] = []
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
        return Capabilities(containers=False, limits_enforced=False, shared_trust=True)

    def start(self, directory: Path) -> None:
        self._reap()
        if (directory / "claim").exists():
            return
        self._children.append(_spawn_keeper(directory))

    def status(self, directory: Path) -> Status:
        self._reap()
        owner = self._owners.get(directory) or records.owner(directory)
        if owner is None:
            return NotStarted()
        self._owners[directory] = owner
        # Looked at before exit.json is: a keeper writes that file and only then leaves.
        alive = keeper.is_running(owner)
        ended = records.exited(directory)
        if ended is not None:
            self._owners.pop(directory, None)
            return ended
        started_at = records.started_at(directory)
        if alive:
            return Running(started_at)
        return _lost(directory.name, owner, started_at)

    def stop(self, directory: Path) -> None:
        records.ask_to_stop(directory)

    def forget(self, directory: Path) -> None:
        """Nothing of it is kept elsewhere."""

    def _reap(self) -> None:
        self._children = [child for child in self._children if os.waitpid(child, os.WNOHANG) == (0, 0)]


def _spawn_keeper(directory: Path) -> int:
    """Start the keeper in a session of its own, so that no signal meant for the agent reaches it; its pid."""
    output = os.open(directory / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(records.KEEPER), str(directory.absolute())],
            {},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, output, 1),
                (os.POSIX_SPAWN_DUP2, output, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD),
        )
    finally:
        os.close(output)


def _lost(placement: str, owner: dict[str, Any], started_at: datetime | None) -> Status:
    """The keeper is gone without an exit record. The command died with it, but what that one started may live on."""
    if owner["boot"] != keeper.boot_id():
        return Lost("The machine restarted while the job ran.", started_at)
    left = keeper.marked(placement)
    if left:
        log.warning("keeper lost: placement=%s, ending %d processes it left", placement, len(left))
        keeper.send_signal(left, signal.SIGKILL)
        return Running(started_at)
    return Lost("The keeper of the job was killed.", started_at)
