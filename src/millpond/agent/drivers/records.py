"""What keepers wrote into a placement's directory, read by every driver (docs/design/003-agent-protocol.md).

A distributed job has a keeper for each rank (docs/design/012-distributed-jobs.md): here it is told of as one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.agent.drivers import Exited, Reason
from millpond.agent.keeper.files import claim
from millpond.agent.spec import rank_directories, write_private
from millpond.wire.observed import RankSeen

CLAIM = "claim"
STOP = "stop"

_EXIT = "exit.json"
_IMAGE = "image-digest"


def note_image(directory: Path, digest: str) -> None:
    """Keep which image its container was made of, as the engine names it: a tag may name another tomorrow."""
    if digest and image_digest(directory) != digest:
        write_private(directory / _IMAGE, digest)


def image_digest(directory: Path) -> str | None:
    """`sha256:…` of the image it runs in; None without one, or while the engine has not told."""
    try:
        return (directory / _IMAGE).read_text().strip() or None
    except OSError:
        return None


def owner(directory: Path) -> dict[str, Any] | None:
    """Who has claimed it: pid, start time and boot id, as seen where that keeper runs. Of a distributed job, whoever
    saw that all ranks had come."""
    found: dict[str, Any] | None = _read(directory / CLAIM)
    return found


def started_at(directory: Path, ranks: Sequence[Path] | None = None) -> datetime | None:
    """When the command began, on all ranks; None while it has not. `ranks`: for whoever has looked for them already."""
    ranks = rank_directories(directory) if ranks is None else ranks
    if ranks:
        begun = [moment for one in ranks if (moment := started_at(one, ()))]
        return max(begun) if len(begun) == len(ranks) else None
    command = _read(directory / "keeper.json")
    return _time(command["started_at"]) if command else None


def command(directory: Path) -> dict[str, Any] | None:
    """The command's own process, which leads a session: pid, start time and boot id; None while it has not begun."""
    found = _read(directory / "keeper.json")
    return found["command"] if found else None


def exited(directory: Path, ranks: Sequence[Path] | None = None) -> Exited | None:
    """How it ended; None while it, or a rank of it, has not. `ranks`: for whoever has looked for them already."""
    ranks = rank_directories(directory) if ranks is None else ranks
    return _exited(directory) or (exited_together(directory, ranks) if ranks else None)


def exited_together(directory: Path, ranks: Sequence[Path]) -> Exited | None:
    """The end of the rank that failed first is that of all; without one, that of the first that was made to end."""
    ends: list[Exited] = []
    for one in ranks:
        ended = _exited(one)
        if ended is None:
            return None
        ends.append(ended)
    failed = failed_rank(directory)
    made_to = [ended for ended in ends if ended.reason]
    chosen = ends[failed] if failed is not None else min(made_to, key=_end_time) if made_to else ends[0]
    begun = [ended.started_at for ended in ends if ended.started_at]
    return replace(
        chosen,
        rank=failed,
        started_at=max(begun, default=None),
        exited_at=max(filter(None, (ended.exited_at for ended in ends)), default=None),
    )


def failed_rank(directory: Path) -> int | None:
    record = _read(directory / "failed")
    return None if record is None else int(record["rank"])


def ranks_seen(directory: Path) -> list[RankSeen]:
    """How each rank of a distributed job stands."""
    return [_rank_seen(number, one) for number, one in enumerate(rank_directories(directory))]


def _rank_seen(number: int, directory: Path) -> RankSeen:
    node = (owner(directory) or {}).get("node", "")
    ended = _exited(directory)
    if ended is not None:
        return RankSeen(rank=number, state="ended", node=node, exit_code=ended.exit_code, signal=ended.signal)
    return RankSeen(rank=number, state="running" if started_at(directory) else "waiting", node=node)


def _end_time(ended: Exited) -> float:
    return ended.exited_at.timestamp() if ended.exited_at else 0.0


def _exited(directory: Path) -> Exited | None:
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
    """Keepers end the command as soon as they see this; one that has not begun never begins."""
    if directory.is_dir():
        (directory / STOP).touch()
    for rank in rank_directories(directory):
        (rank / STOP).touch()


def give_up(directory: Path, problem: str | None = None, reason: Reason = Reason.NOT_STARTED) -> bool:
    """Claim it in place of a keeper, so that none will ever run it. False when a keeper has it, or it has ended."""
    if not claim(str(directory / CLAIM)):
        return False
    record = {"exit_code": None, "signal": None, "reason": reason.value, "problem": problem}
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
