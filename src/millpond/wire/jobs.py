"""Jobs, their attempts, why they wait and what they use."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from millpond.model.job import Ending, JobKind, JobState
from millpond.wire.base import Request, Response, Time

MAX_RETRIES = 100
MAX_PROCESSES = 1024


class JobInput(Response):
    dataset: str  # project/name
    ref: str
    commit_id: str
    env: str


class Ledger(Response):
    """Where the time went, in seconds; None for what has not begun. `total` is queue to end, `run` the user's code.

    The parts are those of the newest attempt; `earlier` is what those before it took.
    """

    earlier: float | None = None
    queue: float | None
    fill: float | None
    environment: float | None
    run: float | None
    save: float | None
    total: float


class After(Response):
    """A job that this one begins after; `when`: any end of it will do, or only success."""

    job: str  # id
    name: str
    when: Literal["success", "any"]
    # None once it is deleted for good.
    state: JobState | None


class Job(Response):
    id: str
    project: str
    name: str
    number: int
    written: str  # NAME, or NAME#2 when a newer job has the name
    kind: JobKind
    state: JobState
    reasons: list[str]
    command: list[str]
    env: dict[str, str]
    # How many processes start together (0: a plain command). CPUs, memory and GPUs are then those of each.
    processes: int = 0
    cpu: int
    memory_bytes: int
    gpu_hundredths: int
    # A part of a GPU must be kept to; and how it is where it was placed: counted, or enforced.
    gpu_enforced: bool = False
    gpu_share: Literal["none", "accounted", "enforced"] | None = None
    image: str | None
    code_commit: str | None
    inputs: list[JobInput]
    output_commit: str | None
    run_id: str
    created_by: str
    compute: str | None
    node: str | None
    queued_at: Time
    placed_at: Time | None
    started_at: Time | None
    ended_at: Time | None
    deleted_at: Time | None
    exit_code: int | None
    signal: int | None
    # How the newest attempt ended, when it did not succeed.
    ending: Ending | None
    # Of a distributed job: the process whose failure ended all others. Its log is the one shown first.
    failed_rank: int | None = None
    problem: str | None
    ledger: Ledger
    # The one compute it may run on.
    wanted_compute: str | None
    priority: int
    timeout_seconds: int  # of one attempt; 0 for no limit
    retries: int
    retry_on: list[str]
    backoff_seconds: int
    # The number of the newest attempt; how many of them counted as retries, and how many were lost without its doing.
    attempt: int
    retried: int
    losses: int
    # When it is tried again.
    not_before: Time | None
    after: list[After]
    # From 0 to 1, as the job itself says.
    progress: float | None
    # What its environment holds, the job that builds it, and what that became.
    environment_source: str | None
    environment_job: str | None
    environment_commit: str | None
    # Ports that people open in a browser, and after how long without anybody it is stopped (0: never).
    ports: list[int] = []
    idle_seconds: int = 0
    # Secrets of its project that it is given: their names by variables, never their values.
    secrets: dict[str, str] = {}
    # What it asks of the driver that runs it, like the partition of a cluster.
    options: dict[str, str] = {}


class Rank(Response):
    """One process of a distributed job; `waiting` for the others before all start."""

    rank: int
    state: Literal["waiting", "running", "ended"]
    node: str
    exit_code: int | None
    signal: int | None


class Attempt(Response):
    """One placement of a job: where it ran, when, and how it ended. `id` chooses its log.

    `ranks` are the processes of a distributed job.
    """

    id: str
    number: int
    compute: str
    node: str
    state: Literal["placed", "preparing", "running", "saving", "finished"]
    created_at: Time
    started_at: Time | None
    exited_at: Time | None
    # Over: nothing of it is left, or it has certainly run out.
    ended_at: Time | None
    exit_code: int | None
    signal: int | None
    ending: Ending | None
    problem: str | None
    ranks: list[Rank] = []


class AttemptList(Response):
    items: list[Attempt]


class JobCreate(Request):
    """`inputs` in written form, dataset[@ref]; `after` as JOB, JOB:success or JOB:any. Without a name, one is made.

    `retry_on`: exit, signal, oom, timeout, any, or exit statuses; exit and signal when it is empty.
    `environment`: a commit of the project's code that holds requirements.txt and what builds it.
    `tags` are those of its run.
    `processes`: so many of the command start together or none, with their ranks in the environment; `cpu`,
    `memory_bytes` and `gpu_hundredths` are then for each of them. 0 for a plain command.
    """

    name: str | None = None
    command: list[str] = Field(min_length=1, max_length=1000)
    env: dict[str, str] = {}
    inputs: list[str] = []
    processes: int = Field(default=0, ge=0, le=MAX_PROCESSES)
    cpu: int = Field(default=0, ge=0, le=1_000_000)
    memory_bytes: int = Field(default=0, ge=0, le=1 << 60)
    gpu_hundredths: int = Field(default=0, ge=0, le=10_000_000)
    # Only where a part of a GPU is kept to, and not merely counted.
    gpu_enforced: bool = False
    image: str | None = Field(default=None, min_length=1, max_length=300)
    code_commit: str | None = None
    experiment: str | None = None
    compute: str | None = None
    priority: int = Field(default=0, ge=-100, le=100)
    timeout_seconds: int = Field(default=0, ge=0, le=366 * 86_400)
    retries: int = Field(default=0, ge=0, le=MAX_RETRIES)
    retry_on: list[str] = Field(default=[], max_length=20)
    backoff_seconds: int = Field(default=5, ge=0, le=86_400)
    after: list[str] = Field(default=[], max_length=100)
    environment: str | None = None
    tags: dict[str, str] = {}
    # For people to work in: a terminal, ports that open in a browser; stopped when nobody did for so long (0: never).
    interactive: bool = False
    ports: list[Annotated[int, Field(ge=1, le=65_535)]] = Field(default=[], max_length=20)
    idle_seconds: int = Field(default=0, ge=0, le=366 * 86_400)
    # Secrets of the project for its environment: names by variables.
    secrets: dict[str, str] = Field(default={}, max_length=100)
    # Asked of the driver that runs it; `job_options` of a compute says which it takes.
    options: dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")], Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
    ] = Field(default={}, max_length=20)


class JobsChange(Request):
    """Which jobs to stop, delete or bring back: ids, NAME or NAME#N."""

    jobs: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=1_000)]


class JobChanged(Response):
    """What became of one of many: the job as it is now, or why nothing was done to it."""

    asked: str
    job: Job | None = None
    code: str | None = None
    problem: str | None = None
    hint: str | None = None


class JobsChanged(Response):
    items: list[JobChanged]


class Why(Response):
    state: JobState
    reasons: list[str]


class Usage(Response):
    at: Time
    cpu_percent: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    # The network was the machine's own: the counts are of everything that ran there.
    network_shared: bool | None = None


class UsageSeries(Response):
    items: list[Usage]


class PortAddress(Response):
    """Where a browser opens a port of a job: `url` works once, for a minute. `origin` is this port's own."""

    origin: str
    url: str
