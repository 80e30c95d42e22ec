"""What gives a volume its tier where agents cannot: a cloud's or an array's own call, behind a small Protocol.

A volume names its setter as `NAME` or `NAME:ARGUMENT`. Packages bring others as entry points (docs/plugins.md).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from millpond import plugins
from millpond.errors import BadRequest, Invalid, MillError
from millpond.model.names import check_name
from millpond.services.admin_programs import run_program

ANSWER_SECONDS = 120.0


class TierFailed(MillError):
    """The tier could not be set."""

    code = "tier_failed"


@dataclass(frozen=True, slots=True)
class TierAsked:
    """The volume, and the tier that it is to have. `bytes_per_second`: None where the tier has no limit."""

    volume: str
    site: str
    path: str
    tier: str
    throughput: float
    bytes_per_second: int | None
    capacity_bytes: int


class TierSetter(Protocol):
    def set_tier(self, asked: TierAsked) -> int | None:
        """Give the volume this tier, without moving its data. What it has then in bytes per second, None if nobody
        says. Raises TierFailed. May take two minutes, and is called again at any time, also for what is so already."""
        ...


class CommandTierSetter:
    """A program of the administrator's, told by environment variables. It may print what the volume has now."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def set_tier(self, asked: TierAsked) -> int | None:
        told = {
            "MILL_VOLUME": asked.volume,
            "MILL_SITE": asked.site,
            "MILL_PATH": asked.path,
            "MILL_TIER": asked.tier,
            "MILL_TIER_THROUGHPUT": f"{asked.throughput:g}",
            "MILL_BYTES_PER_SECOND": "" if asked.bytes_per_second is None else str(asked.bytes_per_second),
            "MILL_CAPACITY_BYTES": str(asked.capacity_bytes),
        }
        answer = run_program(self._program, told, seconds=ANSWER_SECONDS, failed=TierFailed).strip()
        if not answer:
            return asked.bytes_per_second
        if not answer.isdecimal():
            raise TierFailed(
                f"`{self._program.name}` answered {answer[:80]!r}.",
                hint="It may print the bytes per second that the volume has now, as a number, and nothing else.",
            )
        return int(answer)


def open_command(argument: str, directory: Path) -> CommandTierSetter:
    """The program of that name. Invalid if it is not there."""
    program = directory / check_name(argument, "command")
    if not program.is_file() or not os.access(program, os.X_OK):
        raise Invalid(
            f"There is no executable {argument!r} in {directory} on the server.",
            hint="Put the program there that sets the tier: docs/caches.md",
            fields=["tier_by"],
        )
    return CommandTierSetter(program)


def open_setter(written: str, directory: Path) -> TierSetter:
    """`NAME:ARGUMENT`; `directory` is where programs of the administrator's lie."""
    name, _, argument = written.partition(":")
    try:
        opened = plugins.load(plugins.TIERS, name)
    except KeyError as error:
        known = ", ".join(plugins.names(plugins.TIERS))
        raise BadRequest(
            f"There is no plug-in {name[:63]!r} that sets tiers.", hint=f"Installed on the server: {known}."
        ) from error
    found: TierSetter = opened(argument, directory)
    return found
