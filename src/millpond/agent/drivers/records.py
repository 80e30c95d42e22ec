"""What a keeper wrote into a placement's directory, read by every driver (docs/design/003-agent-protocol.md)."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.agent import keeper
from millpond.agent.drivers import Exited, Reason

CLAIM = "claim"
STOP = "stop"
KEEPER = Path(keeper.__file__)

_EXIT = "exit.json"


def owner(directory: Path) -> dict[str, Any] | None:
    """Who has claimed it: pid, start time and boot id, as seen where that keeper runs."""
    found: dict[str, Any] | None = _read(directory / CLAIM)
    return found


def started_at(directory: Path) -> datetime | None:
    """When the command began; None while it has not."""
    command = _read(directory / "keeper.json")
    return _time(command["started_at"]) if command else None


def exited(directory: Path) -> Exited | None:
    record = _read(directory / _EXIT)
    if record is None:
        return None
    return Exited(
        exit_code=record["exit_code"],
        signal=record["signal"],
        reason=Reason(record["reason"]) if record["reason"] else None,
        problem=record["problem"],
        started_at=_time(record["started_at"]),
        exited_at=_time(record["exited_at"]),
    )


def ask_to_stop(directory: Path) -> None:
    """The keeper ends the command as soon as it sees this; one that has not begun never begins."""
    if directory.is_dir():
        (directory / STOP).touch()


def give_up(directory: Path, problem: str | None = None) -> bool:
    """Claim it in place of a keeper, so that none will ever run it. False when a keeper has it, or it has ended."""
    if not keeper.claim(str(directory / CLAIM)):
        return False
    record = {"exit_code": None, "signal": None, "reason": Reason.NOT_STARTED.value, "problem": problem}
    temporary = directory / f"{_EXIT}.new"
    with open(temporary, "w") as file:
        json.dump({**record, "started_at": None, "exited_at": time.time()}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(directory / _EXIT)
    return True


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
