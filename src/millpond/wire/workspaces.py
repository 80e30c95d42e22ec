"""Workspaces in the agent protocol: what the server wants of each, and what its agent sees (docs/design/028)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.base import Request, Response, Time

How = Literal["empty", "subvolume", "csi", "overlay", "reflink", "fill", "copy"]
Consistency = Literal["atomic", "frozen", "per-file"]


class DesiredSource(Response):
    """What a new workspace begins with: nothing, a commit, a near snapshot, or the tree of another one as it is now."""

    kind: Literal["empty", "commit", "snapshot", "workspace"] = "empty"
    # Of a commit. `cached`: it is published on the volume and leased, so that it is copied from there.
    project: str = ""
    project_id: str = ""
    dataset: str = ""
    dataset_id: str = ""
    commit_id: str = ""
    tree: str = ""
    files: int = 0
    bytes: int = 0
    cached: bool = False
    # Of a snapshot, which is on the same volume; of a workspace without `number`.
    workspace_id: str = ""
    number: int = 0


class DesiredSnapshot(Response):
    """Be `near`: freeze the tree under this number. Be `kept`: commit it, too. Be `absent`: remove what is near."""

    number: int
    name: str
    attempt: int
    want: Literal["near", "kept", "absent"]
    # The kept snapshot before it: what has not changed since is neither read nor sent again.
    parent: str | None = None


class DesiredRestore(Response):
    """Put this snapshot, or this commit where it is no longer near, in the place of the tree, once."""

    attempt: int
    source: DesiredSource


class DesiredWorkspace(Response):
    """A workspace of a volume that this agent tends, while there is something to do for it.

    One that is not listed is left as it is; it is removed by `want: absent` alone.
    """

    id: str
    name: str
    project: str
    project_id: str
    # The number of its project, as in `DesiredPlacement`.
    account: int = 0
    volume_id: str
    # With it snapshots are kept, and commits are read that are not cached.
    token: str
    attempt: int
    want: Literal["present", "absent"]
    how: How
    source: DesiredSource
    # What it may take, reserved in the volume's stock.
    size_bytes: int
    # It is a claim of this class of the agent's cluster, rather than a directory; for one node at a time, or many.
    storage_class: str = ""
    many_nodes: bool = False
    reserve_bytes: int = 0
    read_only: bool = False
    # Jobs have it: it is mounted, and what it takes is measured.
    in_use: bool = False
    measure: bool = False
    snapshots: list[DesiredSnapshot] = []
    restore: DesiredRestore | None = None


class SnapshotSeen(Request):
    number: int
    attempt: int
    state: Literal["taking", "near", "keeping", "kept", "absent", "failed"]
    consistency: Consistency | None = None
    at: Time | None = None
    files: int = Field(default=0, ge=0)
    bytes: int = Field(default=0, ge=0)
    # What it alone takes on the volume.
    unique_bytes: int = Field(default=0, ge=0)
    done_bytes: int = Field(default=0, ge=0)
    commit: str | None = None
    # Kept without ever having been frozen on its storage, if not.
    near: bool = True
    problem: str | None = None
    # A problem that may go by itself: the agent goes on trying.
    transient: bool = False


class WorkspaceSeen(Request):
    """How a workspace stands, told until the desired state no longer asks."""

    id: str
    attempt: int
    state: Literal["working", "ready", "absent", "failed"]
    # As it was really made, which may be less than was asked for; `reason` then says why.
    how: How | None = None
    reason: str = ""
    consistency: Consistency | None = None
    done_files: int = Field(default=0, ge=0)
    done_bytes: int = Field(default=0, ge=0)
    seconds: float = 0.0
    files: int = Field(default=0, ge=0)
    unique_bytes: int | None = None
    shared_bytes: int | None = None
    # When it was measured; None: not since the agent started.
    measured_at: Time | None = None
    quota: Literal["qgroup", "project", "claim", "measured"] = "measured"
    snapshots: list[SnapshotSeen] = []
    # The attempt of the restore that is done, and what stands in the way of one that is not.
    restored: int = 0
    restore_problem: str | None = None
    problem: str | None = None
    transient: bool = False
