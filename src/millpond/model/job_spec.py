"""What a user asks to run: one immutable, versioned document, separate from the job's status.

To add an option, add a field here with a default, use it where it matters, and offer it on the command line and the
page: docs/design/015-job-spec.md shows how. The API, the database, the scheduler and the agents carry the spec whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import Annotated, Any

from annotated_types import Ge, Le, Len, MaxLen

from millpond.errors import Invalid
from millpond.model.documents import check_keys, from_document, to_document
from millpond.model.names import DatasetRef
from millpond.model.quantity import DAY, parse_seconds

# Of the document. An added field keeps it; a changed meaning takes the next number and an entry in _UPGRADES.
VERSION = 1

MAX_RETRIES = 100
MAX_PROCESSES = 1024
_YEAR = 366 * DAY
# The least time between two snapshots of a run.
LEAST_EVERY = 10

# Marks a field that has no say in where a job can run: it stays out of the class key.
_UNPLACED: Mapping[str, bool] = {"unplaced": True}


class JobKind(Enum):
    TRAINING = "training"
    INTERACTIVE = "interactive"
    STEP = "step"
    SERVICE = "service"
    # Builds the packages that other jobs asked for; made by the server.
    ENVIRONMENT = "environment"


class Launcher(Enum):
    """Who starts the processes of a distributed job.

    TORCH: the agent starts each, with the variables of torchrun and others. MPI: `mpirun`, or `srun` of Slurm, without
    which a program of MPI is alone.
    """

    TORCH = "torch"
    MPI = "mpi"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A job that must have ended before this one begins; `success`: and must have succeeded.

    As asked: any way to write the job. As stored: its id.
    """

    job: str
    when: str = "success"  # or "any"

    @classmethod
    def parse(cls, text: str) -> Dependency:
        """`JOB`, `JOB:success` or `JOB:any`."""
        job, colon, when = text.rpartition(":")
        return cls(job, when) if colon else cls(text)


@dataclass(frozen=True, slots=True)
class JobInput:
    """A dataset (`project/name`) at a commit, and the environment variable that holds its path in the job.

    In a request, dataset and ref are enough; the server fills in the rest.
    """

    dataset: str
    ref: str = ""
    commit_id: str = ""
    dataset_id: str = ""
    env: str = ""
    # Of a step of a flow: a file of the commit that is the input; and whether it is read from the lake (`mill://`)
    # instead of a volume.
    path: str = ""
    streamed: bool = False

    @classmethod
    def parse(cls, text: str) -> JobInput:
        """`dataset[@ref]`."""
        ref = DatasetRef.parse_commit(text)
        return cls(f"{ref.project}/{ref.dataset}" if ref.project else ref.dataset, ref.ref or "")

    @property
    def project(self) -> str:
        return self.dataset.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.dataset.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class JobMount:
    """A shared directory, and where a container shows it.

    As asked: `mount` is its name or its path. As stored: its name, and the site where it exists, if not everywhere.
    """

    mount: Annotated[str, Len(1, 1000)]
    target: Annotated[str, Len(1, 1000)]
    read_only: bool = False
    site_id: str = ""

    @classmethod
    def parse(cls, text: str) -> JobMount:
        """`NAME:/path` or `/directory:/path`, with `:ro` behind it for reading only."""
        parts = text.split(":")
        read_only = len(parts) == 3 and parts[2] in ("ro", "rw") and parts.pop() == "ro"
        if len(parts) != 2 or not parts[0] or not parts[1].startswith("/"):
            raise Invalid(
                f"{text!r} is not a mount.", hint="Write it as NAME:/path, or NAME:/path:ro for reading only.",
                fields=["mounts"],
            )  # fmt: skip
        return cls(parts[0], parts[1], read_only)


@dataclass(frozen=True, slots=True)
class JobWorkspace:
    """A workspace of the project, and where a container shows it.

    As asked: `workspace` is its name. As stored: also its id and volume.
    """

    workspace: Annotated[str, Len(1, 63)]
    target: Annotated[str, Len(1, 1000)]
    read_only: bool = False
    # It is the home of the command.
    home: bool = False
    id: str = ""
    volume_id: str = ""

    @classmethod
    def parse(cls, text: str) -> JobWorkspace:
        """`NAME:/path`, with `:ro` behind it for reading only."""
        parts = text.split(":")
        read_only = len(parts) == 3 and parts[2] in ("ro", "rw") and parts.pop() == "ro"
        if len(parts) != 2 or not parts[0] or not parts[1].startswith("/"):
            raise Invalid(
                f"{text!r} is not a workspace.", hint="Write it as NAME:/path, or NAME:/path:ro for reading only.",
                fields=["workspaces"],
            )  # fmt: skip
        return cls(parts[0], parts[1], read_only)


@dataclass(frozen=True, slots=True)
class SnapshotMoments:
    """When snapshots of a job's workspaces are taken for its run. `every_seconds`: 0 for never."""

    start: bool = False
    end: bool = False
    every_seconds: Annotated[int, Ge(0), Le(_YEAR)] = 0

    @classmethod
    def parse(cls, text: str) -> SnapshotMoments:
        """`start`, `end` and `every=30m`, set apart by commas."""
        moments: dict[str, Any] = {}
        for word in text.replace(" ", "").split(","):
            if word in ("start", "end"):
                moments[word] = True
            elif word.startswith("every="):
                moments["every_seconds"] = parse_seconds(word.removeprefix("every="), least=LEAST_EVERY, most=_YEAR)
            else:
                raise Invalid(
                    f"{text!r} does not say when to take snapshots.", hint="Write it as start,end,every=30m.",
                    fields=["snapshots"],
                )  # fmt: skip
        return cls(**moments)


@dataclass(frozen=True, slots=True)
class StepOutput:
    """An output that a step declares: a value, or files in its folder below $MILL_OUTPUT."""

    name: str
    type: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class JobStep:
    """What the process of a flow's step is told (docs/flows.md). `index` is -1 for a step that runs once."""

    run: str
    name: str
    index: int = -1
    params: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[StepOutput, ...] = ()


# Roles of services.
REPLICA, ROUTER = "replica", "router"


@dataclass(frozen=True, slots=True)
class JobService:
    """What the process of a service is told (docs/design/025, 027), by its role; `cluster` is the id of its cluster.

    `offline`: it goes on for as long as its agent does not hear from the server; its placement never runs out.
    `remote`: a replica whose router may be on another machine.
    """

    role: str
    endpoint: str = ""
    model: str = ""
    offline: bool = True
    remote: bool = False
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """Zero CPU or memory means: no reservation, best effort. GPUs are whole hundredths."""

    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    # A part of a GPU must be kept to, and not only counted.
    gpu_enforced: bool = False


@dataclass(frozen=True, kw_only=True)  # without slots, for what is worked out once
class JobSpec:
    """What the user asked for. It never changes after submission."""

    command: Annotated[tuple[str, ...], Len(1, 1000)] = field(metadata=_UNPLACED)
    kind: JobKind = JobKind.TRAINING
    env: Mapping[str, str] = field(default_factory=dict, metadata=_UNPLACED)
    # Secrets of the project for its environment: names by variables.
    secrets: Annotated[Mapping[str, str], MaxLen(100)] = field(default_factory=dict, metadata=_UNPLACED)
    inputs: tuple[JobInput, ...] = ()
    # The container image it runs in; None: as the driver does without.
    image: Annotated[str, Len(1, 300)] | None = None
    # No limit for /dev/shm, where a driver sets one.
    large_shm: bool = field(default=False, metadata=_UNPLACED)
    # Shared directories that it reads and writes.
    mounts: Annotated[tuple[JobMount, ...], MaxLen(20)] = ()
    # Workspaces of the project that it reads and writes; it runs at their site.
    workspaces: Annotated[tuple[JobWorkspace, ...], MaxLen(20)] = ()
    # When snapshots of its workspaces are taken and linked to its run.
    snapshots: SnapshotMoments | None = field(default=None, metadata=_UNPLACED)
    # A commit of the project's code that its working directory starts as.
    code_commit: str | None = None
    # A commit of the project's code that holds requirements.txt and what builds it.
    environment: str | None = None
    # How many of the command start together, or none; 0 for a plain command. CPUs, memory and GPUs are those of each.
    processes: Annotated[int, Ge(0), Le(MAX_PROCESSES)] = 0
    launcher: Launcher = Launcher.TORCH
    cpu: Annotated[int, Ge(0), Le(1_000_000)] = 0
    memory_bytes: Annotated[int, Ge(0), Le(1 << 60)] = 0
    gpu_hundredths: Annotated[int, Ge(0), Le(10_000_000)] = 0
    # Only where a part of a GPU is kept to, and not merely counted.
    gpu_enforced: bool = False
    # The one compute it may run on; None for any.
    compute: str | None = None
    # The template that fills in what is left open here, or the queue of templates tried in turn; or some as `T1,T2`.
    on: Annotated[str, Len(1, 639)] | None = None
    # Only nodes with such GPUs (`A100` is in `NVIDIA A100-SXM4-40GB`), of at least so much memory each.
    gpu_type: Annotated[str, Len(1, 100)] | None = None
    min_gpu_memory_bytes: Annotated[int, Ge(0), Le(1 << 50)] = 0
    # Only nodes with all of these labels.
    node_selector: Annotated[Mapping[str, str], MaxLen(20)] = field(default_factory=dict)
    # Asked of the driver that runs it, like the partition of a cluster.
    options: Annotated[Mapping[str, str], MaxLen(20)] = field(default_factory=dict)
    # Higher ones are tried first.
    priority: Annotated[int, Ge(-100), Le(100)] = field(default=0, metadata=_UNPLACED)
    # May be stopped and queued again for another job; None: all but interactive jobs and services may.
    preemptible: bool | None = field(default=None, metadata=_UNPLACED)
    # Of one attempt; 0 for no limit.
    timeout_seconds: Annotated[int, Ge(0), Le(_YEAR)] = field(default=0, metadata=_UNPLACED)
    # Between SIGTERM and SIGKILL when it is stopped or preempted: time to save a checkpoint.
    grace_seconds: Annotated[int, Ge(0), Le(DAY)] = field(default=30, metadata=_UNPLACED)
    # How often it may be tried again after which endings (decide/retry.py), waiting so long before the first time.
    retries: Annotated[int, Ge(0), Le(MAX_RETRIES)] = field(default=0, metadata=_UNPLACED)
    retry_on: Annotated[tuple[str, ...], MaxLen(20)] = field(default=(), metadata=_UNPLACED)
    backoff_seconds: Annotated[int, Ge(0), Le(DAY)] = field(default=5, metadata=_UNPLACED)
    after: Annotated[tuple[Dependency, ...], MaxLen(100)] = field(default=(), metadata=_UNPLACED)
    # Ports that people open in a browser; after how long without anybody it is stopped (0: never).
    ports: Annotated[tuple[Annotated[int, Ge(1), Le(65_535)], ...], MaxLen(20)] = ()
    idle_seconds: Annotated[int, Ge(0), Le(_YEAR)] = field(default=0, metadata=_UNPLACED)
    # Of its run: the experiment it belongs to, and its tags.
    experiment: Annotated[str, Len(1, 200)] | None = field(default=None, metadata=_UNPLACED)
    tags: Mapping[str, str] = field(default_factory=dict, metadata=_UNPLACED)
    # Parameters that its script finds in the file that MILL_PARAMS names, where `Run.params` reads them.
    params: Annotated[Mapping[str, Any], MaxLen(1000)] = field(default_factory=dict, metadata=_UNPLACED)
    # Where its script names a ref of an input itself, it reads the input's commit, though the ref has moved on.
    pinned: bool = field(default=False, metadata=_UNPLACED)
    # Of a step of a flow.
    step: JobStep | None = field(default=None, metadata=_UNPLACED)
    # The cluster of the project that its programs find in their environment; it runs at that one's site.
    cluster: Annotated[str, Len(1, 63)] | None = field(default=None, metadata=_UNPLACED)
    # Of a replica or router of endpoints, or a part of a cluster; and the one site that it may run at, by id.
    service: JobService | None = field(default=None, metadata=_UNPLACED)
    site_id: Annotated[str, MaxLen(32)] | None = None

    @cached_property
    def resources(self) -> Resources:
        return Resources(self.cpu, self.memory_bytes, self.gpu_hundredths, self.gpu_enforced)

    @property
    def is_preemptible(self) -> bool:
        """True if it may be stopped and queued again for another job."""
        if self.preemptible is not None:
            return self.preemptible
        return self.kind not in (JobKind.INTERACTIVE, JobKind.SERVICE)

    @property
    def gpus(self) -> int:
        """Hundredths of a GPU, of all its processes together."""
        return self.gpu_hundredths * max(1, self.processes)

    @property
    def ranks(self) -> int:
        """How many of its processes have a keeper and a log of their own; 0: it has one for all."""
        return 0 if self.launcher is Launcher.MPI else self.processes

    @cached_property
    def reached(self) -> frozenset[str]:
        """How people reach the job while it runs: "exec" for a terminal, "ports" for its ports."""
        if self.kind is not JobKind.INTERACTIVE:
            return frozenset()
        return frozenset({"exec", "ports"} if self.ports else {"exec"})

    @cached_property
    def class_key(self) -> str:
        """Equal for jobs that can run in the same places: a digest of every field that matters for that."""
        unplaced = {one.name for one in fields(self) if one.metadata.get("unplaced")}
        placed = {key: value for key, value in to_document(self).items() if key not in unplaced}
        return hashlib.sha256(json.dumps(placed, sort_keys=True).encode()).hexdigest()[:32]

    def to_document(self) -> dict[str, Any]:
        """The document that is stored and sent to agents."""
        return {"version": VERSION, **to_document(self)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> JobSpec:
        """Read a document of this or an older version."""
        return from_document(cls, _upgraded(document))


def checked_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Expand short forms and reject unknown keys. Values are not checked.

    `inputs` may be written `dataset@ref`, `after` as `JOB:any`, `mounts` and `workspaces` as `NAME:/path`, and
    `interactive: true` stands for the kind.
    Raises Invalid.
    """
    found = _upgraded(document)
    if "interactive" in found and found.pop("interactive"):
        found.setdefault("kind", JobKind.INTERACTIVE.value)
    for key, parse in _SHORT.items():
        if isinstance(found.get(key), list | tuple):
            found[key] = [to_document(parse(item)) if isinstance(item, str) else item for item in found[key]]
    if isinstance(found.get("snapshots"), str):
        found["snapshots"] = to_document(SnapshotMoments.parse(found["snapshots"]))
    check_keys(JobSpec, found, also=("interactive", "version"))
    return found


_SHORT: Mapping[str, Callable[[str], JobInput | Dependency | JobMount | JobWorkspace]] = {
    "inputs": JobInput.parse,
    "after": Dependency.parse,
    "mounts": JobMount.parse,
    "workspaces": JobWorkspace.parse,
}
# From a version to the next: what a document of the older one would be today.
_UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def _upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(document)
    version = found.pop("version", VERSION)
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise Invalid(
            f"A job specification of version {version!r} cannot be read.",
            hint=f"This Millpond reads versions up to {VERSION}: install a newer one.",
            fields=["version"],
        )
    for step in range(version, VERSION):
        found = _UPGRADES[step](found)
    return found
