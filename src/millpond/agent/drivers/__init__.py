"""How jobs are run: one small Protocol that every engine (processes, Slurm, Kubernetes …) stands behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeAlias


class Reason(Enum):
    """Why a command ended, when it did not end by itself."""

    STOPPED = "stopped"
    EXPIRED = "expired"
    TERMINATED = "terminated"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Nobody has claimed the placement yet."""


@dataclass(frozen=True, slots=True)
class Running:
    """Claimed and not ended. `started_at` is None until the command itself runs."""

    started_at: datetime | None


@dataclass(frozen=True, slots=True)
class Exited:
    """The command has ended and nothing of it is left. At most one of exit code and signal is set."""

    exit_code: int | None = None
    signal: int | None = None
    reason: Reason | None = None
    problem: str | None = None
    started_at: datetime | None = None
    exited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """It was started and is gone without a word: the machine restarted, or its keeper was killed."""

    problem: str
    started_at: datetime | None = None


Status: TypeAlias = NotStarted | Running | Exited | Lost


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a driver can honour; asked, never guessed from its name."""

    containers: bool = False
    limits_enforced: bool = False
    # Jobs of all projects share one operating-system account: nothing keeps one from reading another's files.
    shared_trust: bool = True


class Driver(Protocol):
    """Runs placements, each known by its directory (docs/design/003-agent-protocol.md).

    Every method returns quickly, may be called again at any time, by this agent or by the next one after a restart:
    whatever a driver needs to know of a placement is in its directory or in the engine itself. That is adoption.
    """

    @property
    def name(self) -> str: ...

    def capabilities(self) -> Capabilities: ...

    def start(self, directory: Path) -> None:
        """Start what `spec.json` in `directory` describes, under a keeper. A second start of one placement does
        nothing, whoever calls it: the keeper's claim is exclusive. Raises OSError when the engine refuses."""
        ...

    def status(self, directory: Path) -> Status:
        """How it stands. `Exited` and `Lost` are final, and mean that no process of it is left."""
        ...

    def stop(self, directory: Path) -> None:
        """Ask for the end: SIGTERM, grace, SIGKILL to the whole tree; `status` tells when it has happened.
        A placement that was never started, has ended or is unknown is success; it will not start afterwards."""
        ...
