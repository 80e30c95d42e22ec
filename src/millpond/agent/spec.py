"""Files that the agent writes into a placement's directory for the keeper: `spec.json`, `renewal`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from millpond.agent import mpi
from millpond.agent.keeper.clock import boot_id, boot_time
from millpond.model.job import RankPlace
from millpond.model.job_spec import JobSpec

SPEC = "spec.json"
RENEWAL = "renewal"
CLOCK = "clock"
RANKS = "ranks"
LOG = "log"


@dataclass(frozen=True, slots=True)
class Mount:
    """A published commit or a shared directory, and where the job sees it; a commit is read-only."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """What the user asked to run, and how it is run here.

    `directory` is where the command starts; the environment is all it sees, in a container added to that of the image.
    """

    placement: str
    job: str
    project: str
    # Of a distributed job, CPUs, memory and GPUs are those of each process.
    asked: JobSpec
    env: Mapping[str, str]
    directory: str
    valid_seconds: float
    grace_seconds: float
    # How much of its log the keeper leaves on the disk: its beginning and its end. 0 for all of it.
    log_bytes: int = 0
    # What the server's clock showed when that of this machine's boot time was at zero, and which boot of which machine
    # that was: what happens to the command is dated by it.
    epoch: tuple[float, str] | None = None
    # Variables whose values are hidden in its log, beside those that sound like secrets.
    secret_env: tuple[str, ...] = ()
    # The node the server chose, and the GPUs it promised there.
    node: str = ""
    gpu_indices: tuple[int, ...] = ()
    # What it runs in: that of the job, or the driver's own. None: the job sees the machine as it is.
    image: str | None = None
    inputs: tuple[Mount, ...] = ()
    # Shared directories that an administrator lets it use.
    mounts: tuple[Mount, ...] = ()
    # Of a distributed job: where each process is to run.
    ranks: tuple[RankPlace, ...] = ()
    # For the keeper of one of them: its `rank`, the `size` of the whole, its `node`, its `address` if that is known.
    gang: Mapping[str, Any] | None = None
    # The number of its project, from which its account is made, and those of the projects that its inputs belong to.
    account: int = 0
    accounts: tuple[int, ...] = ()
    # SIGTERM is for the command alone, which ends in order what it started.
    client: bool = False
    # A directory on a volume that is its own while it runs.
    scratch: str | None = None
    # What starts its command, with that as arguments.
    starter: tuple[str, ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """What is started: the job's command, or what starts its processes."""
        return (*self.starter, *mpi.command(self.asked))

    @property
    def unheard_seconds(self) -> float:
        """How long its command may run on while nobody hears of it; of a service a second copy does no harm."""
        return 0.0 if self.asked.service is not None else self.valid_seconds

    def write(self, placement: Path) -> None:
        """Write atomically, readable by this account only: it holds a token.

        The keeper knows nothing of specs: what it needs of one stands beside it.
        """
        written = {field.name: getattr(self, field.name) for field in fields(self)} | {
            "asked": self.asked.to_document(),
            "command": self.command,
            "relays": mpi.is_mpi(self.asked),
            "timeout_seconds": self.asked.timeout_seconds,
            "inputs": [asdict(mount) for mount in self.inputs],
            "mounts": [asdict(mount) for mount in self.mounts],
            "ranks": [asdict(place) for place in self.ranks],
        }
        write_private(placement / SPEC, json.dumps(written))


def read_spec(placement: Path) -> Spec | None:
    """Also what an agent of version 0.1.0 wrote: it had the fields of `asked` beside the others."""
    try:
        written = json.loads((placement / SPEC).read_bytes())
    except FileNotFoundError:
        return None
    read: dict[str, Any] = {
        "asked": JobSpec.from_document(
            written.get("asked") or {name: written[name] for name in _ONCE_BESIDE if name in written}
        ),
        "gpu_indices": tuple(written["gpu_indices"]),
        "inputs": tuple(Mount(**mount) for mount in written["inputs"]),
        "mounts": tuple(Mount(**mount) for mount in written.get("mounts", ())),
        "accounts": tuple(written["accounts"]),
        "ranks": tuple(RankPlace(one["node"], tuple(one["gpu_indices"])) for one in written.get("ranks", ())),
        "secret_env": tuple(written.get("secret_env", ())),
        "starter": tuple(written.get("starter", ())),
        "epoch": tuple(written["epoch"]) if written.get("epoch") else None,
    }
    known = {field.name for field in fields(Spec)}
    return Spec(**{name: value for name, value in written.items() if name in known} | read)


_ONCE_BESIDE = ("command", "timeout_seconds", "cpu", "memory_bytes", "gpu_hundredths", "options")


def rank_directories(placement: Path) -> list[Path]:
    """Those of the keepers of a distributed job, in order; none for a plain one, or before it is laid out."""
    try:
        names = [name for name in os.listdir(placement / RANKS) if name.isdecimal()]
    except FileNotFoundError:
        return []
    return [placement / RANKS / str(rank) for rank in sorted(map(int, names))]


def keeper_directory(placement: Path, rank: int) -> Path:
    """That of the keeper of one rank; of a plain job, the placement's own."""
    ranks = rank_directories(placement)
    if not ranks:
        return placement
    if not 0 <= rank < len(ranks):
        raise OSError(f"The job has {len(ranks)} processes: there is no rank {rank}.")
    return ranks[rank]


def renew(placement: Path, moment: float) -> None:
    """Let the validity of the placement count from `moment`, seconds by this machine's boot-time clock, for each of
    its keepers."""
    for directory in (placement, *rank_directories(placement)):
        _renew(directory, moment)


def _renew(placement: Path, moment: float) -> None:
    """A keeper on another machine has told what its own clock shows; that was before it is read here, so the moment by
    its clock is never later than the true one.
    """
    shown, boot = _read_clock(placement / CLOCK) or (None, boot_id())
    if shown is not None and boot != boot_id():
        moment += shown - boot_time()
    write_private(placement / RENEWAL, f"{moment!r} {boot}")


def answer_clock(placement: Path) -> None:
    """Tell keepers that have just begun on another machine how long their placement is valid, by their own clock."""
    for directory in (placement, *rank_directories(placement)):
        clock = _read_clock(directory / CLOCK)
        renewal = _read_clock(directory / RENEWAL) if clock else None
        if clock and renewal and renewal[1] == boot_id() != clock[1]:
            _renew(directory, renewal[0])


def _read_clock(path: Path) -> tuple[float, str] | None:
    """Seconds since a machine started, and which start of which machine that was."""
    try:
        moment, _, boot = path.read_text().partition(" ")
    except FileNotFoundError:
        return None
    return float(moment), boot or boot_id()


def write_private(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)
