"""The level-triggered protocol between server and agents (docs/design/003-agent-protocol.md)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.base import Request, Response, Time

PROTOCOL = 1


class NodeFacts(Request):
    name: str
    cpus: int
    memory_bytes: int
    gpus: int = 0
    gpu_model: str = ""
    declared: bool = False
    labels: dict[str, str] = {}


class VolumeSeen(Request):
    """What the agent found at a volume's path; `problem` is a sentence for people, None when all is well."""

    id: str
    problem: str | None = None
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    # Published commits found there; None while there is a problem.
    commits: list[CommitSeen] | None = None


class CommitSeen(Request):
    dataset_id: str
    commit_id: str


class FillSeen(Request):
    """Progress or end of one fill or eviction, told until the desired state no longer asks for it."""

    cached_id: str
    attempt: int
    state: Literal["filling", "ready", "evicted", "failed"]
    done_bytes: int = 0
    done_files: int = 0
    problem: str | None = None
    # A problem that may go by itself (store away, disk full): the agent goes on trying.
    transient: bool = False


class PlacementSeen(Request):
    id: str
    state: Literal["preparing", "running", "saving", "finished"]
    started_at: Time | None = None
    exited_at: Time | None = None
    exit_code: int | None = None
    signal: int | None = None
    problem: str | None = None
    output_commit: str | None = None
    log_bytes: int = 0


class Observed(Request):
    """Everything the agent sees, every time."""

    protocol: int = PROTOCOL
    version: str
    # New at every start of the agent process; two instances with one credential are told apart by it.
    instance: str
    # Grows with every report of this instance: one that was overtaken on the way is older than what is known.
    sequence: int = 0
    boot_id: str
    driver: str = "process"
    nodes: list[NodeFacts]
    volumes: list[VolumeSeen] = []
    fills: list[FillSeen] = []
    placements: list[PlacementSeen] = []
    # The revision of the desired state this agent has; the server answers at once when it has a newer one.
    seen_revision: str = ""
    wait_seconds: float = Field(default=20, ge=0, le=60)


class DesiredVolume(Response):
    """`new`: no agent has seen it well yet, so an empty directory may become it; otherwise its mount is missing."""

    id: str
    path: str
    new: bool = True
    lake: str = ""
    # This agent, and no other, fills, evicts and tidies up there.
    tended: bool = False


class DesiredFill(Response):
    """Be `present`: fill attempt `attempt` and publish it. Be `absent`: rename aside and remove."""

    cached_id: str
    volume_id: str
    project: str
    project_id: str
    dataset: str
    dataset_id: str
    commit_id: str
    tree: str
    files: int
    bytes: int
    attempt: int
    want: Literal["present", "absent"]


class DesiredInput(Response):
    env: str
    project_id: str
    dataset: str
    dataset_id: str
    commit_id: str
    volume_id: str
    ready: bool


class DesiredPlacement(Response):
    """A job to run (or to stop). `token` is the job's own scoped token, told only to the agent that runs it."""

    id: str
    job_id: str
    job_name: str
    project: str
    run_id: str
    token: str
    node: str
    command: list[str]
    env: dict[str, str]
    cpu: int
    memory_bytes: int
    gpu_hundredths: int
    gpu_indices: list[int] = []
    inputs: list[DesiredInput]
    code: DesiredInput | None
    valid_seconds: int
    grace_seconds: int
    want: Literal["run", "stop"]


class Desired(Response):
    """Everything the server wants of this agent, every time. A placement that is not listed any more is forgotten."""

    revision: str
    agent_id: str
    site: str
    volumes: list[DesiredVolume]
    fills: list[DesiredFill]
    placements: list[DesiredPlacement]
    server_time: Time


class LogAnswer(Response):
    """How far the server has the log; the agent goes on from there."""

    offset: int


class UsageSample(Request):
    at: Time
    cpu_percent: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None


class UsageBatch(Request):
    samples: list[UsageSample] = Field(max_length=1000)


VolumeSeen.model_rebuild()
