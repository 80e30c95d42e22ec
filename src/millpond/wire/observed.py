"""What an agent sees, told to the server every time (docs/design/003-agent-protocol.md)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from millpond.model.fill_source import SourceKind
from millpond.wire.agent import PROTOCOL
from millpond.wire.base import Request, Time
from millpond.wire.workspaces import WorkspaceSeen


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
    # Why its cluster starts nothing new there ("cordoned in Kubernetes"); None where it does.
    closed: str | None = None


class Capabilities(Request):
    """What an agent's driver can honour; asked of it, never guessed from its name (`agent/drivers`)."""

    containers: bool = False
    default_image: str | None = None
    limits_enforced: bool = False
    gpu_fractions: Literal["none", "accounted", "enforced"] = "accounted"
    gangs: bool = False
    mpi: bool = False
    services: bool = False
    routers: bool = False
    serving_problem: str = Field(default="", max_length=500)
    ports: bool = False
    exec: bool = False
    # What a job may ask of the driver, each with the label by which nodes list what they offer of it; "": any value.
    job_options: dict[str, str] = {}
    # Jobs of all projects share one operating-system account: nothing keeps one from reading another's files.
    shared_trust: bool = True
    # The engine has a queue of its own: a job that it was given may wait there.
    queues: bool = False
    # What keeps jobs to the throughput of a volume's tier on local disks; None: nothing does.
    io_limits: Literal["blkio", "io.max"] | None = None


class StorageClassSeen(Request):
    """A class of which the agent of a Kubernetes cluster makes claims for workspaces, by what its API server says."""

    name: str = Field(max_length=253)
    provisioner: str = ""
    is_default: bool = False
    # Claims can be made larger.
    expands: bool = False
    # New claims can begin as another one.
    clones: bool = False
    # Of the VolumeSnapshotClass for it; "": there is none, and why.
    snapshot_class: str = ""
    snapshot_problem: str = ""


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
    # Snapshots of whole directories at once, as btrfs has them.
    subvolumes: bool = False
    # A writable layer over files of root, given to a project's account; otherwise why not.
    overlay: bool = False
    overlay_problem: str = ""
    # What keeps a workspace within its size: the file system by itself, or the agent that measures it.
    quota: Literal["qgroup", "project", "measured"] = "measured"
    # Where its agent runs jobs in pods: workspaces may be claims of these classes.
    storage_classes: list[StorageClassSeen] = []
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


class CommitSeen(Request):
    dataset_id: str
    commit_id: str
    # Agents that do not tell it are not asked to look at what nobody knew of.
    project_id: str = ""


class TierSeen(Request):
    """What keeps jobs to the throughput of a volume's tier, and the limit in force; `problem`: why nothing does."""

    by: Literal["blkio", "io.max", "none"]
    bytes_per_second: int | None = None
    problem: str | None = None


class VolumeSeen(Request):
    """What the agent found at a volume's path; `problem` is a sentence for people, None when all is well."""

    id: str
    problem: str | None = None
    disk_total_bytes: int | None = None
    disk_free_bytes: int | None = None
    # None where the file system has no limit on them.
    inodes_total: int | None = None
    inodes_free: int | None = None
    # Allocated for what evicted commits have left: files that somebody has open on NFS.
    leftover_bytes: int = Field(default=0, ge=0)
    features: VolumeFeatures | None = None
    # Published commits found there; None while there is a problem.
    commits: list[CommitSeen] | None = None
    # Of the projects that the server asks to have measured, as soon as they are.
    shares: list[ProjectShares] = []
    tier: TierSeen | None = None


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


class SourceSeen(Request):
    """What one source gave to a fill. `id` is that of a volume, where the source is one (`mount`, `peer`).

    Bytes are counted as they came from there, once they were held against their digest; pages of the tree are not.
    """

    kind: SourceKind
    id: str = ""
    bytes: int = Field(default=0, ge=0)


class StoreSeen(Request):
    """Whether the agent can read the lake from a store of its site; `problem` is a sentence for people."""

    store: str = Field(max_length=32)
    problem: str | None = None


class FillSeen(Request):
    """Progress or end of a fill, eviction or verification, told until the desired state no longer asks for it."""

    cached_id: str
    attempt: int
    state: Literal["filling", "ready", "evicted", "verifying", "verified", "failed"]
    done_bytes: int = 0
    done_files: int = 0
    # What each source has given to this attempt, and how long it took: final with `ready`.
    sources: list[SourceSeen] = []
    # New with each try: then sources are counted from nothing.
    session: str = Field(default="", max_length=32)
    seconds: float = 0.0
    # It waited for a source that was being filled itself: how long it took tells nothing of the way from there.
    followed: bool = False
    # Of a fill under way: what came in its last seconds, and how many these were. An outage before does not count.
    recent_bytes: int = 0
    recent_files: int = 0
    recent_seconds: float = 0.0
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


class ServiceSeen(Request):
    """What the process of a service wrote about itself: once it is ready, and what it has counted."""

    ready: dict[str, Any] | None = None
    stats: dict[str, Any] | None = None


class PlacementSeen(Request):
    id: str
    state: Literal["preparing", "running", "saving", "finished"]
    started_at: Time | None = None
    exited_at: Time | None = None
    exit_code: int | None = None
    signal: int | None = None
    # Why it ended, when the command did not end by itself; `cancelled`: by somebody in the engine; `lost`: unknown.
    reason: (
        Literal["stopped", "cancelled", "expired", "terminated", "not_started", "out_of_memory", "timeout", "lost"]
        | None
    ) = None
    problem: str | None = None
    # What the engine says of a placement that it has and has not begun, for people.
    waiting: str | None = None
    output_commit: str | None = None
    # Of a step of a flow: the values that it wrote, and the names of outputs that are files, once they are saved.
    step_made: dict[str, Any] | None = None
    # Why what the command left could not be saved as its checkpoint.
    checkpoint_problem: str | None = None
    log_bytes: int = 0
    # `sha256:…` of the image of its container, as soon as the engine has told.
    image_digest: str | None = None
    # Of a distributed job: its processes, and the one whose failure ended all others.
    ranks: list[RankSeen] = []
    failed_rank: int | None = None
    service: ServiceSeen | None = None


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
    # The SHA-256 of the certificate by which agents of other sites know this one; None if it serves them nothing.
    peer: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    nodes: list[NodeFacts]
    volumes: list[VolumeSeen] = []
    # Of the stores that it was asked to try.
    stores: list[StoreSeen] = []
    fills: list[FillSeen] = []
    placements: list[PlacementSeen] = []
    workspaces: list[WorkspaceSeen] = []
    # The revision of the desired state this agent has; the server answers at once when it has a newer one.
    seen_revision: str = ""
    wait_seconds: float = Field(default=20, ge=0, le=60)
