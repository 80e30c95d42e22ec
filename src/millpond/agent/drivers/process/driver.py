"""The process driver: every job is a process tree under its keeper, on the machine of the agent."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.agent import keeper
from millpond.agent.drivers import Capabilities, Exited, Lost, NotStarted, Reason, Running, Status

log = logging.getLogger(__name__)

KEEPER = Path(keeper.__file__)


class ProcessDriver:
    """See `Driver` for the contract; the files it reads are written by the keeper."""

    def __init__(self) -> None:
        # Keepers started by this agent, kept only to be waited for: an ended one must not stay a zombie.
        self._children: list[int] = []
        # Whose placement it is never changes; asked ten times a second, it is worth remembering.
        self._owners: dict[Path, dict[str, Any]] = {}

    @property
    def name(self) -> str:
        return "process"

    def capabilities(self) -> Capabilities:
        return Capabilities(containers=False, limits_enforced=False, shared_trust=True)

    def start(self, directory: Path) -> None:
        self._reap()
        if (directory / "claim").exists():
            return
        self._children.append(_spawn_keeper(directory))

    def status(self, directory: Path) -> Status:
        self._reap()
        owner = self._owners.get(directory) or _read(directory / "claim")
        if owner is None:
            return NotStarted()
        self._owners[directory] = owner
        # Looked at before exit.json is: a keeper writes that file and only then leaves.
        alive = keeper.is_running(owner)
        ended = _read(directory / "exit.json")
        if ended is not None:
            self._owners.pop(directory, None)
            return _exited(ended)
        command = _read(directory / "keeper.json")
        started_at = _time(command["started_at"]) if command else None
        if alive:
            return Running(started_at)
        return _lost(directory.name, owner, started_at)

    def stop(self, directory: Path) -> None:
        if directory.is_dir():
            (directory / "stop").touch()

    def _reap(self) -> None:
        self._children = [child for child in self._children if os.waitpid(child, os.WNOHANG) == (0, 0)]


def _spawn_keeper(directory: Path) -> int:
    """Start the keeper in a session of its own, so that no signal meant for the agent reaches it; its pid."""
    output = os.open(directory / "keeper.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(KEEPER), str(directory.absolute())],
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


def _exited(record: dict[str, Any]) -> Exited:
    return Exited(
        exit_code=record["exit_code"],
        signal=record["signal"],
        reason=Reason(record["reason"]) if record["reason"] else None,
        problem=record["problem"],
        started_at=_time(record["started_at"]),
        exited_at=_time(record["exited_at"]),
    )


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


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
