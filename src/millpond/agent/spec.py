"""What the agent writes into a placement's directory for the keeper: `spec.json`, `renewal`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SPEC = "spec.json"
RENEWAL = "renewal"


@dataclass(frozen=True, slots=True)
class Mount:
    """A published commit, and where the job sees it; read-only."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Spec:
    """One command to run. `directory` is where it starts; the environment is all of what it sees, in a container
    added to that of the image. What follows `timeout_seconds` is for drivers; the keeper needs nothing of it."""

    placement: str
    job: str
    project: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    directory: str
    valid_seconds: float
    grace_seconds: float
    # How long the command may run; 0 for no limit.
    timeout_seconds: float = 0
    # The node the server chose, and what it promised there; zero is no reservation.
    node: str = ""
    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    gpu_indices: tuple[int, ...] = ()
    # None: the job sees the machine as it is, and its inputs where they lie.
    image: str | None = None
    inputs: tuple[Mount, ...] = ()

    def write(self, placement: Path) -> None:
        """Appears whole or not at all, and only for this account: a token is inside."""
        write_private(placement / SPEC, json.dumps(asdict(self)))


def read_spec(placement: Path) -> Spec | None:
    try:
        fields = json.loads((placement / SPEC).read_bytes())
    except FileNotFoundError:
        return None
    read: dict[str, Any] = {
        "command": tuple(fields["command"]),
        "gpu_indices": tuple(fields["gpu_indices"]),
        "inputs": tuple(Mount(**mount) for mount in fields["inputs"]),
    }
    return Spec(**{**fields, **read})


def renew(placement: Path, moment: float) -> None:
    """Let the validity of the placement count from `moment`, seconds by the boot-time clock."""
    write_private(placement / RENEWAL, repr(moment))


def write_private(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)
