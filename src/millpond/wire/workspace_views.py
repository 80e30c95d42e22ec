"""Workspaces as people ask for them and see them (/api/v1/projects/P/workspaces)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.model.workspace import (
    Begins,
    Consistency,
    How,
    SnapshotOrigin,
    SnapshotState,
    WorkspaceState,
)
from millpond.wire.base import Request, Response, Time

_SIZE = Field(default=None, ge=0, le=1 << 60)


class WorkspaceCreate(Request):
    """`dataset` (`dataset@ref`) or `clone` (`W`, `W@SNAPSHOT`, `W@daily*`) say what it begins with; neither: empty.

    A clone without a size has that of its source. Without a volume, the best one is chosen: one that `near` (a compute
    or site) sees, of this `tier`.
    """

    name: str = Field(max_length=63)
    size_bytes: int | None = _SIZE
    dataset: str | None = Field(default=None, max_length=400)
    clone: str | None = Field(default=None, max_length=200)
    volume: str | None = Field(default=None, max_length=63)
    near: str | None = Field(default=None, max_length=63)
    tier: str | None = Field(default=None, max_length=63)
    # A claim of this storage class of a Kubernetes cluster; `many_nodes`: with ReadWriteMany.
    storage_class: str | None = Field(default=None, max_length=253)
    many_nodes: bool = False
    read_only: bool = False
    shared: bool = False
    # A repository that a job of the project clones into it, and the branch, tag or commit.
    git: str = Field(default="", max_length=1000)
    git_ref: str = Field(default="", max_length=255)


class WorkspacePlan(Response):
    """What creating it would do. `expected_seconds` is None where nothing is known of the way."""

    volume: str
    site: str
    size_bytes: int
    how: How
    expected_seconds: float | None
    reasons: list[str]
    # Idle cached commits that go for it.
    evicts: int


class WorkspaceChange(Request):
    size_bytes: int | None = _SIZE
    shared: bool | None = None


class WorkspaceJob(Response):
    id: str
    name: str
    read_only: bool


class WorkspaceOrigin(Response):
    """What it was made from. `workspace_id` and `number` name a workspace and its snapshot."""

    kind: Begins
    written: str
    workspace_id: str
    number: int
    commit_id: str


class Workspace(Response):
    id: str
    project: str
    name: str
    owner: str
    shared: bool
    # Whether you may have what is in it; administrators see that others' exist.
    usable: bool
    volume: str
    site: str
    # Where machines see it that have the volume; empty for a claim, which pods mount.
    path: str
    # Of a claim of a Kubernetes cluster, and whether pods of several nodes may have it (ReadWriteMany).
    storage_class: str
    many_nodes: bool
    size_bytes: int
    read_only: bool
    state: WorkspaceState
    how: How
    reasons: list[str]
    expected_seconds: float | None
    took_seconds: float | None
    source: WorkspaceOrigin
    created_at: Time
    changed_at: Time
    ready_at: Time | None
    consistency: Consistency | None
    quota: str
    files: int
    # What it alone takes, what it has in common with others, and both.
    unique_bytes: int
    shared_bytes: int
    used_bytes: int
    measured_at: Time | None
    done_files: int
    done_bytes: int
    problem: str | None
    snapshots: int
    snapshot_bytes: int
    newest_snapshot_at: Time | None
    jobs: list[WorkspaceJob]
    # While its content is replaced: by what.
    restoring: str | None
    git: str
    git_ref: str
    git_job: str
    deleted_at: Time | None
    deleted_by: str | None


class SnapshotCreate(Request):
    """With `keep` (`7` or `30d`), `name` is that of a series, whose older snapshots go by this rule."""

    name: str | None = Field(default=None, max_length=127)
    keep: str | None = Field(default=None, max_length=20)


class WorkspaceSnapshot(Response):
    """A frozen state. `near`: its copy is on the volume; `commit`: it is kept in the lake."""

    workspace: str
    number: int
    name: str
    series: str
    origin: SnapshotOrigin
    state: SnapshotState
    near: bool
    commit: str | None
    created_by: str
    created_at: Time
    taken_at: Time | None
    consistency: Consistency | None
    files: int
    bytes: int
    unique_bytes: int
    done_bytes: int
    run: str | None
    keep: str
    problem: str | None


class RunSnapshot(WorkspaceSnapshot):
    """One that belongs to a run: taken at its `start`, while it went on (`run`) or at its `end`; "" if by hand."""

    moment: Literal["start", "run", "end", ""]


class RunSnapshots(Response):
    """Oldest first."""

    items: list[RunSnapshot]


class RunRestore(Request):
    """A new workspace `into`, as one of the run's was at its start; `workspace` names it if there are several."""

    into: str = Field(max_length=63)
    workspace: str | None = Field(default=None, max_length=63)
    size_bytes: int | None = _SIZE


class WorkspaceSnapshots(Response):
    items: list[WorkspaceSnapshot]


class WorkspaceRestoreRequest(Request):
    """In place, or `into` a new workspace."""

    snapshot: str = Field(max_length=127)
    into: str | None = Field(default=None, max_length=63)
    size_bytes: int | None = _SIZE


class WorkspaceRefresh(Request):
    """By what it was cloned from, as that is now, or by `source` (`W`, `W@SNAPSHOT`, `W@daily*`)."""

    source: str | None = Field(default=None, max_length=200)


class ScheduleCreate(Request):
    """`every_seconds`, or a cron expression in a time zone; `keep` as for snapshots."""

    cron: str = Field(default="", max_length=200)
    timezone: str = Field(default="UTC", max_length=63)
    every_seconds: int = Field(default=0, ge=0, le=366 * 86_400)
    keep: str | None = Field(default=None, max_length=20)


class SnapshotSchedule(Response):
    series: str
    cron: str
    timezone: str
    every_seconds: int
    keep: str
    created_by: str
    created_at: Time
    next_at: Time
    last_at: Time | None
    problem: str | None


class SnapshotSchedules(Response):
    items: list[SnapshotSchedule]


class WorkspaceWhy(Response):
    state: WorkspaceState
    reasons: list[str]
