"""The level-triggered protocol between server and agents (docs/design/003-agent-protocol.md)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.base import Request, Response, Time

PROTOCOL = 1
# Told with every request of an agent: a server that speaks another version says so whatever the body looks like.
PROTOCOL_HEADER = "X-Mill-Protocol"


class NodeFacts(Request):
    name: str
    cpus: int
    memory_bytes: int
    gpus: int = 0
    gpu_model: str = ""
    # Of each of them; 0 where nobody says.
    gpu_memory_bytes: int = 0
    declared: bool = False
    labels: dict[str, str] = {}


class Capabilities(Request):
    """What an agent's driver can honour; asked of it, never guessed from its name (`agent/drivers`)."""

    containers: bool = False
    default_image: str | None = None
    limits_enforced: bool = False
    gpu_fractions: Literal["none", "accounted", "enforced"] = "accounted"
    gangs: bool = False
    ports: bool = False
    exec: bool = False
    # What a job may ask of the driver, each with the label by which nodes list what they offer of it; "": any value.
    job_options: dict[str, str] = {}
    # Jobs of all projects share one operating-system account: nothing keeps one from reading another's files.
    shared_trust: bool = True


class VolumeFeatures(Request):
    """What the file system of a volume can do, tried out by its agent."""

    # A second name for a file: unchanged files of another commit cost nothing. Otherwise they are copied.
    link: bool = True
    # Copies that share their blocks.
    reflink: bool = False
    symlink: bool = True
    # Permissions and times can be set. Without, a cached file may look writable, or not executable.
    chmod: bool = True
    times: bool = True
    # `A` and `a` are two names. Without, a commit that has both cannot be cached there.
    case_sensitive: bool = True
    # The longest name of a file, in bytes.
    name_bytes: int = 255
    # The agent writes there as another user than it is: root is nobody on many file servers.
    squashed: bool = False
    # Directories can be given to the group of a project, so that only its jobs enter them.
    groups: bool = False
    # What it takes for one byte of content, and for an inode; 0: unknown, and nothing.
    block_bytes: int = Field(default=0, ge=0)
    inode_bytes: int = Field(default=0, ge=0)


class ShareSeen(Request):
    """What the file system allocates for the files that exactly these commits have in common, by inode."""

    commits: list[str]
    bytes: int
    inodes: int


class ProjectShares(Request):
    """A project's trees on a volume, measured file by file. `commits` are all that were measured."""

    project_id: str
    commits: list[str]
    shares: list[ShareSeen]


class VolumeSeen(Request):
    """What the agent found at a volume's path; `problem` is a sentence for people, None when all is well."""

    id: str
    problem: str | None = None
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    # None where the file system has no limit on them.
    inodes_total: int | None = None
    inodes_free: int | None = None
    features: VolumeFeatures | None = None
    # Published commits found there; None while there is a problem.
    commits: list[CommitSeen] | None = None
    # Of the projects that the server asks to have measured, as soon as they are.
    shares: list[ProjectShares] = []


class CommitSeen(Request):
    dataset_id: str
    commit_id: str
    # Agents that do not tell it are not asked to look at what nobody knew of.
    project_id: str = ""


class Verified(Request):
    """What reading every byte of a cached commit has found, and what became of it.

    Files that are damaged, missing or have other permissions than they should, and names that do not belong there;
    `healed_files` of them are as they should be now, in every commit that shares them.
    """

    checked_files: int = 0
    checked_bytes: int = 0
    damaged_files: int = 0
    missing_files: int = 0
    extra_files: int = 0
    healed_files: int = 0
    fetched_bytes: int = 0
    # A few of the paths, for people.
    examples: list[str] = []


class FillSeen(Request):
    """Progress or end of a fill, eviction or verification, told until the desired state no longer asks for it."""

    cached_id: str
    attempt: int
    state: Literal["filling", "ready", "evicted", "verifying", "verified", "failed"]
    done_bytes: int = 0
    done_files: int = 0
    # What came from the lake over the network, what was taken from other commits on the volume, and how long it took:
    # final with `ready`.
    sent_bytes: int = 0
    linked_files: int = 0
    linked_bytes: int = 0
    seconds: float = 0.0
    # The volume of another site that files were copied from, and how much came from there.
    source: str | None = None
    copied_files: int = 0
    copied_bytes: int = 0
    verified: Verified | None = None
    problem: str | None = None
    # A problem that may go by itself (store away, disk full): the agent goes on trying.
    transient: bool = False


class RankSeen(Request):
    """One process of a distributed job."""

    rank: int
    state: Literal["waiting", "running", "ended"]
    node: str = ""
    exit_code: int | None = None
    signal: int | None = None


class PlacementSeen(Request):
    id: str
    state: Literal["preparing", "running", "saving", "finished"]
    started_at: Time | None = None
    exited_at: Time | None = None
    exit_code: int | None = None
    signal: int | None = None
    # Why it ended, when the command did not end by itself; `lost`: nobody knows how.
    reason: Literal["stopped", "expired", "terminated", "not_started", "out_of_memory", "timeout", "lost"] | None = None
    problem: str | None = None
    # What the engine says of a placement that it has and has not begun, for people.
    waiting: str | None = None
    output_commit: str | None = None
    log_bytes: int = 0
    # Of a distributed job: its processes, and the one whose failure ended all others.
    ranks: list[RankSeen] = []
    failed_rank: int | None = None


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
    capabilities: Capabilities | None = None
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
    # The other volumes that the server knows, told with `new`: a directory that was one of a database that is gone, of
    # the same lake, becomes this one with all that is cached there. None: it does not.
    others: list[str] | None = None
    # This agent, and no other, fills, evicts and tidies up there.
    tended: bool = False
    # It belongs to another site: look whether it is mounted here, and write nothing.
    visited: bool = False
    # The numbers of the projects that have something there, by their ids; told to the agent that tends the volume.
    accounts: dict[str, int] = {}
    # What the server lacks the shares of; told to the agent that tends the volume.
    measure: list[DesiredMeasure] = []
    # Where the names of branches lead that people use on the volume.
    pointers: list[DesiredPointer] = []


class DesiredMeasure(Response):
    """Measure these commits of a project: all of its published ones, so that what they share is known."""

    project_id: str
    # Pairs of a dataset's and a commit's id.
    commits: list[tuple[str, str]]


class DesiredPointer(Response):
    """`branches/<project>/<dataset>/<branch>` leads to this commit, which is published."""

    project: str
    dataset: str
    branch: str
    project_id: str
    dataset_id: str
    commit_id: str


class Base(Response):
    """A commit of the same project that is published on the same volume: unchanged files may be taken from it."""

    dataset: str
    dataset_id: str
    commit_id: str
    tree: str


class DesiredFill(Response):
    """Be `present`: fill attempt `attempt` and publish it. Be `absent`: rename aside and remove.

    Be `verified`: read every byte, and put right what is wrong. Be `found`: it was published before the server knew of
    it; hold it against its tree by sizes, permissions and times, and put right what is wrong. `ready` then, or
    `evicted` if it is not there.
    """

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
    want: Literal["present", "absent", "verified", "found"]
    # What the file system will allocate for it, and what shall stay free beside it: looked for before the first byte.
    needed_bytes: int = 0
    needed_inodes: int = 0
    reserve_bytes: int = 0
    reserve_inodes: int = 0
    # The best first. Any of them may be gone by now: then everything is fetched.
    bases: list[Base] = []
    # A volume of another site that has the commit: what cannot be linked is copied from there, what is missing or
    # wrong there comes from the lake.
    source: str | None = None


class DesiredInput(Response):
    env: str
    project_id: str
    dataset: str
    dataset_id: str
    commit_id: str
    volume_id: str
    ready: bool
    # The number of the project that it belongs to, as in `DesiredPlacement`.
    account: int = 0


class DesiredRank(Response):
    """Where one process of a distributed job is to run, and the GPUs that it is given there."""

    node: str
    gpu_indices: list[int] = []


class DesiredPlacement(Response):
    """A job to run (or to stop). `token` is the job's own scoped token, told only to the agent that runs it."""

    id: str
    job_id: str
    job_name: str
    project: str
    run_id: str
    # The number of its project, the same at every agent: its jobs run under an account that is made of it. 0: unknown.
    account: int = 0
    token: str
    node: str
    # The container image it named; None: as the driver does without.
    image: str | None = None
    # What it asks of the driver.
    options: dict[str, str] = {}
    command: list[str]
    env: dict[str, str]
    cpu: int
    memory_bytes: int
    gpu_hundredths: int
    gpu_indices: list[int] = []
    # Of a distributed job: one for each process, which all start or none. CPUs, memory and GPUs are then each one's.
    ranks: list[DesiredRank] = []
    inputs: list[DesiredInput]
    code: DesiredInput | None
    # A tree of Python packages for the front of PYTHONPATH, with their programs in `bin`.
    environment: DesiredInput | None = None
    valid_seconds: int
    grace_seconds: int
    # How long the command may run; 0 for no limit.
    timeout_seconds: int = 0
    # How much of its log is kept, in all: what lies between its beginning and its end may go. 0: everything.
    log_bytes: int = 0
    # Secrets for its environment, which no log may show; None for one that is gone: then it cannot start.
    secrets: dict[str, str | None] = {}
    want: Literal["run", "stop"]


class DesiredTunnel(Response):
    """Somebody waits for a stream to a job (docs/design/011-tunnels.md): open its WebSocket, once."""

    id: str
    placement_id: str
    kind: Literal["exec", "port"]
    # Of a distributed job: beside which of its processes.
    rank: int = 0
    port: int = 0
    command: list[str] = []
    tty: bool = False
    columns: int = 80
    rows: int = 24
    # Where the stream is waited for; None: at the server that tells of it.
    server: str | None = None


class Desired(Response):
    """Everything the server wants of this agent, every time. A placement that is not listed any more is forgotten."""

    revision: str
    agent_id: str
    site: str
    volumes: list[DesiredVolume]
    fills: list[DesiredFill]
    placements: list[DesiredPlacement]
    # For how long from when it asked an agent may begin something on a volume; later another may be at work there.
    word_seconds: float = 30.0
    # Tests of this compute that somebody asked for, by their ids: each is made once, and what was found is told.
    trials: list[str] = []
    tunnels: list[DesiredTunnel] = []
    server_time: Time


class TrialUrls(Response):
    """One object of the lake to write and read back; URLs that begin with `/` are the server's own."""

    put: str
    put_headers: dict[str, str]
    get: str
    bytes: int
    server_time: Time


class LogAnswer(Response):
    """How far the server has the log; the agent goes on from there. Up to `durable` every server has it."""

    offset: int
    durable: int = 0


class UsageSample(Request):
    at: Time
    cpu_percent: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    network_shared: bool | None = None


class UsageBatch(Request):
    samples: list[UsageSample] = Field(max_length=1000)


VolumeSeen.model_rebuild()
DesiredVolume.model_rebuild()
