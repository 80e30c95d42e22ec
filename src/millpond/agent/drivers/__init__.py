"""How jobs are run: one small Protocol that every engine (processes, Slurm, Kubernetes …) stands behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from millpond.agent.framing import ByteStream
from millpond.wire.observed import NodeFacts


class Reason(Enum):
    """Why a command ended, when it did not end by itself."""

    STOPPED = "stopped"
    EXPIRED = "expired"
    TIMEOUT = "timeout"
    TERMINATED = "terminated"
    NOT_STARTED = "not_started"
    OUT_OF_MEMORY = "out_of_memory"
    # By somebody who used the engine's own means (scancel, kubectl delete).
    CANCELLED = "cancelled"
    # One rank of a distributed job, because another one failed; never of a whole job.
    ANOTHER_RANK = "another_rank"


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Nobody has claimed the placement, and the engine does not know it."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The engine has it and has not begun it; `why` in the engine's own words ("0/3 nodes: insufficient cpu")."""

    why: str


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
    # Of a distributed job: the rank that failed first, whose status this is.
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """It was started and is gone without a word: the machine restarted, or its keeper was killed."""

    problem: str
    started_at: datetime | None = None


Status: TypeAlias = NotStarted | Pending | Running | Exited | Lost


class EngineAway(OSError):
    """The engine does not answer; asked again later it may. Nothing is concluded from its silence."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a driver can honour; asked, never guessed from its name."""

    # A job may name the image it runs in.
    containers: bool = False
    # The image of jobs that name none; None: they see the machine as it is.
    default_image: str | None = None
    # CPUs and memory beyond what was asked for are not to be had.
    limits_enforced: bool = False
    # Parts of a GPU: not at all; counted, and the job is told its share; or kept to by the hardware or the driver.
    gpu_fractions: Literal["none", "accounted", "enforced"] = "accounted"
    # The processes of a distributed job start all or none, and reach each other.
    gangs: bool = False
    # The processes of an MPI program are started by mpirun or the engine, and reach each other.
    mpi: bool = False
    # Replicas of endpoints: they find their files, what they tell of themselves is read, and routers reach them.
    services: bool = False
    # Routers of endpoints: they run where the agent does, on ports that clients reach.
    routers: bool = False
    # Why it cannot do one of both, and what to do, for people.
    serving_problem: str = ""
    # A port of a job can be reached, and a command run beside it.
    ports: bool = False
    exec: bool = False
    # What a job may ask of the driver, each with the label by which nodes list what they offer of it; "": any value.
    job_options: Mapping[str, str] = field(default_factory=dict)
    # Jobs of all projects share one operating-system account: nothing keeps one from reading another's files.
    shared_trust: bool = True
    # The engine has a queue of its own: a job that it was given may wait there.
    queues: bool = False
    # What keeps its jobs to the throughput of a volume's tier on local disks; None: nothing does.
    io_limits: Literal["blkio", "io.max"] | None = None


class Driver(Protocol):
    """Runs placements, each known by its directory (docs/design/003-agent-protocol.md).

    Every method may be called again at any time, by this agent or by the next one after a restart: whatever a driver
    needs to know of a placement is in its directory or in the engine itself. That is adoption.

    `look`, `start`, `stop` and `forget` may take as long as the engine takes to answer: the agent calls them beside
    its loop, `look` once at a time, the others for several placements at once. Everything else answers at once, from
    the placement's directory and from what the last look has found.
    """

    @property
    def name(self) -> str: ...

    @property
    def look_seconds(self) -> float | None:
        """How long to wait between two looks; None for a driver that needs none."""
        ...

    def capabilities(self) -> Capabilities: ...

    def nodes(self) -> Sequence[NodeFacts]:
        """What jobs can run on, by what the last look has found."""
        ...

    def look(self) -> None:
        """Ask the engine once how its nodes and all placements stand. Raises EngineAway; what was known stays."""
        ...

    def start(self, directory: Path) -> None:
        """Start what `spec.json` in `directory` describes, under a keeper. A second start of one placement does
        nothing, whoever calls it: the keeper's claim is exclusive, and an engine is asked by the placement's id before
        it is given anything. Raises EngineAway, or OSError with the reason when the engine refuses for good."""
        ...

    def status(self, directory: Path) -> Status:
        """How it stands. `Exited` and `Lost` are final, and mean that no process of it is left."""
        ...

    def stop(self, directory: Path) -> None:
        """Ask for the end: SIGTERM, grace, SIGKILL to the whole tree; `status` tells when it has happened.
        A placement that was never started, has ended or is unknown is success; it will not start afterwards.
        Raises EngineAway."""
        ...

    def forget(self, directory: Path) -> None:
        """It has ended and the server has heard of it: what the engine keeps of it may go. Raises EngineAway."""
        ...


@runtime_checkable
class Reachable(Protocol):
    """A driver whose jobs people can reach while they run (docs/design/011-tunnels.md); `exec` and `ports` say so.

    Both raise OSError, with words for whoever asked, where that is not possible.
    """

    def enter(self, directory: Path, command: Sequence[str], *, tty: bool, rank: int = 0) -> Sequence[str]:
        """What to run on the agent's machine so that `command` runs beside the job, of a distributed one beside that
        rank. With `tty` its input is a terminal, and it is to be the controlling one."""
        ...

    def address(self, directory: Path, port: int) -> tuple[str, int]:
        """Where a connection to `port` of this job, and of no other, is made from the agent's machine."""
        ...


@runtime_checkable
class ServesElsewhere(Protocol):
    """A driver whose replicas run on other machines than the agent: routers reach them by their ports alone."""

    def serving_host(self, directory: Path) -> str | None:
        """Under which name or address the machine or pod of this job is reached at its site; None while unknown."""
        ...


@runtime_checkable
class Remote(Protocol):
    """A driver whose jobs people can reach though they run on other machines: the agent's far end goes there."""

    async def far_end(self, directory: Path, rank: int = 0) -> ByteStream:
        """The input and output of `far` (docs/design/011-tunnels.md), run beside this job and gone when its input ends;
        of a distributed one, where that rank is. Raises OSError, with words for whoever asked, where that is not
        possible."""
        ...
