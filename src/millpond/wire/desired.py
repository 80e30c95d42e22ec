"""What the server wants of an agent, told every time (docs/design/003-agent-protocol.md)."""

from __future__ import annotations

from typing import Literal

from millpond.wire.base import Response, Time
from millpond.wire.with_spec import WithSpec
from millpond.wire.workspaces import DesiredWorkspace


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
    # The throughput of its tier, which jobs and fills of this agent are kept to; None: not limited here.
    bytes_per_second: int | None = None


class Base(Response):
    """A commit of the same project that is published on the same volume: unchanged files may be taken from it."""

    dataset: str
    dataset_id: str
    commit_id: str
    tree: str


class DesiredPeer(Response):
    """The agent of another site that sends the commit from its volume, to whoever shows the token, once."""

    address: str
    fingerprint: str
    token: str


class DesiredGrant(Response):
    """Send this commit, as far as it is there, to the one agent that shows the token, of which this is the SHA-256."""

    token_sha256: str
    volume_id: str
    project_id: str
    dataset_id: str
    commit_id: str
    # The site of the agent that shows it: the link there may have a limit.
    site: str = ""


class DesiredLimit(Response):
    """What this agent may take of a limit now: of its own site (`site`), or of a link, by the id of its other end."""

    id: str
    bytes_per_second: int


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
    # What is expected from there and from the lake: much slower than that, the rest comes from the lake.
    source_bytes_per_second: float | None = None
    lake_bytes_per_second: float | None = None
    # How its files come from that volume, if it is not mounted here, or being filled itself.
    peer: DesiredPeer | None = None
    # The site of that volume.
    source_site: str = ""
    # Nobody waits for it: others have the slots first.
    prefetch: bool = False
    # How fast it may be while it lets others go first; None: nothing of the kind.
    low_bytes_per_second: int | None = None


class DesiredInput(Response):
    env: str
    project_id: str
    dataset: str
    dataset_id: str
    commit_id: str
    volume_id: str
    ready: bool
    # Of code, where no volume is near: the agent fetches it itself, with the job's token.
    fetch: bool = False
    # The number of the project that it belongs to, as in `DesiredPlacement`.
    account: int = 0


class DesiredRank(Response):
    """Where one process of a distributed job is to run, and the GPUs that it is given there."""

    node: str
    gpu_indices: list[int] = []


class DesiredMount(Response):
    """A shared directory or workspace of a job; without `source` if it may no longer have it: then it cannot start."""

    name: str
    source: str | None
    target: str
    read_only: bool = False
    # It is a workspace, and perhaps the home of the command.
    workspace: bool = False
    home: bool = False


class DesiredService(Response):
    """Files of a service, or of a job with a cluster, which the agent writes beside it, again whenever they change.

    `token` is what a replica demands of whoever asks it, `config` what a router knows, as JSON. `host` is where a
    router listens; the files of its certificate lie on the agent's machine. `files` are further ones by name, `env`
    variables that may name the folder as `{service}`.
    """

    token: str = ""
    config: str = ""
    host: str = "127.0.0.1"
    tls_cert: str | None = None
    tls_key: str | None = None
    files: dict[str, str] = {}
    env: dict[str, str] = {}
    # The volume on which it is given a directory of its own, for as long as it runs; empty: none.
    scratch_volume: str = ""
    # The kind of cluster that its programs join with a node of their own; empty: none.
    joins: Literal["", "ray"] = ""
    # What it waits for before it may start, and why it never can; for people, and empty mostly.
    waiting: str = ""
    refused: str = ""


class DesiredPlacement(WithSpec):
    """A job to run (or to stop). `token` is the job's own scoped token, told only to the agent that runs it."""

    id: str
    job_id: str
    job_name: str
    project: str
    run_id: str
    # The number of its project, the same at every agent: its jobs run under an account that is made of it. 0: unknown.
    account: int = 0
    token: str
    # The number of this attempt, from 1.
    attempt: int = 1
    node: str
    gpu_indices: list[int] = []
    # Of a distributed job: one for each process, which all start or none. CPUs, memory and GPUs are then each one's.
    ranks: list[DesiredRank] = []
    inputs: list[DesiredInput]
    code: DesiredInput | None
    # A tree of Python packages for the front of PYTHONPATH, with their programs in `bin`.
    environment: DesiredInput | None = None
    # The commit of `.checkpoints` that it goes on from.
    checkpoint: str | None = None
    valid_seconds: int
    # How much of its log is kept, in all: what lies between its beginning and its end may go. 0: everything.
    log_bytes: int = 0
    # Secrets for its environment, which no log may show; None for one that is gone: then it cannot start.
    secrets: dict[str, str | None] = {}
    mounts: list[DesiredMount] = []
    service: DesiredService | None = None
    # What its beginning waits for, in words; why it can never begin; what its log begins with.
    waits: str | None = None
    refused: str | None = None
    lines: list[str] = []
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
    # What agents of other sites may fetch from this one now.
    grants: list[DesiredGrant] = []
    # Stores that its site reads the lake from: whether they can be read is tried from time to time, and told.
    stores: list[str] = []
    limits: list[DesiredLimit] = []
    workspaces: list[DesiredWorkspace] = []
    server_time: Time
