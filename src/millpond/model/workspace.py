"""Workspaces: writable trees on volumes, and frozen states of them (docs/design/028)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from fnmatch import fnmatchcase

from millpond.errors import BadName, BadRequest
from millpond.model.names import check_name
from millpond.model.quantity import DAY, format_seconds, parse_seconds

MOST_KEPT = 10_000
_SNAPSHOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,126}")


class How(Enum):
    """A way to make a tree."""

    EMPTY = "empty"
    SUBVOLUME = "subvolume"
    CSI = "csi"
    OVERLAY = "overlay"
    REFLINK = "reflink"
    FILL = "fill"
    COPY = "copy"


class Begins(Enum):
    """What a workspace begins with."""

    EMPTY = "empty"
    COMMIT = "commit"
    SNAPSHOT = "snapshot"
    WORKSPACE = "workspace"  # as it is now


class Consistency(Enum):
    """How whole a snapshot or clone is: of one moment, of a job that was paused, or of a moment for each file."""

    ATOMIC = "atomic"
    FROZEN = "frozen"
    PER_FILE = "per-file"


class WorkspaceState(Enum):
    CREATING = "creating"
    READY = "ready"
    RESTORING = "restoring"  # its content is being replaced
    FAILED = "failed"
    REMOVING = "removing"  # for good


class SnapshotState(Enum):
    """`near` is on the volume alone, `kept` in the lake as well or alone."""

    TAKING = "taking"
    NEAR = "near"
    KEPT = "kept"
    FAILED = "failed"
    REMOVING = "removing"


class SnapshotOrigin(Enum):
    MANUAL = "manual"
    SCHEDULE = "schedule"
    SAFETY = "safety"  # before the content was replaced
    RUN = "run"


@dataclass(frozen=True, slots=True)
class WorkspaceSource:
    """What a workspace begins with. `written` is what was asked for: `dataset@ref`, `W` or `W@SNAPSHOT`."""

    kind: Begins = Begins.EMPTY
    written: str = ""
    # Of a commit.
    project_id: str = ""
    project: str = ""
    dataset_id: str = ""
    dataset: str = ""
    commit_id: str = ""
    tree: str = ""
    files: int = 0
    bytes: int = 0
    # Of a snapshot; of a workspace without a number.
    workspace_id: str = ""
    number: int = 0
    # What its name had to match: `daily*`. Another one may be the newest later.
    pattern: str = ""


NOTHING = WorkspaceSource()


@dataclass(frozen=True, slots=True)
class WorkspaceRestore:
    """The content is replaced by that of `source`, once the snapshot `safety` has been taken."""

    attempt: int
    source: WorkspaceSource
    safety: int
    by: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class KeepRule:
    """How many snapshots of a series are kept, or for how long."""

    count: int | None = None
    seconds: int | None = None

    @property
    def written(self) -> str:
        if self.count is not None:
            return f"the newest {self.count}"
        return f"those of the last {format_seconds(self.seconds or 0)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    id: str
    project_id: str
    project: str
    name: str
    owner_id: str
    owner: str
    # Members of the project use it; otherwise its owner alone.
    shared: bool = False
    volume_id: str
    volume: str
    volume_path: str
    site_id: str
    site: str
    size_bytes: int
    # It is a claim of this class of a Kubernetes cluster; empty: a directory of the volume.
    storage_class: str = ""
    # Pods of several nodes may have it at once.
    many_nodes: bool = False
    read_only: bool = False
    state: WorkspaceState = WorkspaceState.CREATING
    # Fences what the agent does; 0 while it waits for room or for its source.
    attempt: int = 0
    how: How = How.EMPTY
    reasons: tuple[str, ...] = ()
    # What was expected before it began, and what it took.
    expected_seconds: float | None = None
    took_seconds: float | None = None
    source: WorkspaceSource = NOTHING
    created_at: datetime
    changed_at: datetime
    ready_at: datetime | None = None
    consistency: Consistency | None = None
    # What keeps it within its size: qgroup, project, claim or measured.
    quota: str = "measured"
    files: int = 0
    unique_bytes: int = 0
    shared_bytes: int = 0
    measured_at: datetime | None = None
    # To be measured as soon as its agent can.
    measure: bool = False
    done_files: int = 0
    done_bytes: int = 0
    problem: str | None = None
    # Of the next snapshot.
    next_number: int = 1
    restore: WorkspaceRestore | None = None
    # A repository that is cloned into it, the ref, and the job that does so.
    git_url: str = ""
    git_ref: str = ""
    git_job: str = ""
    deleted_at: datetime | None = None
    deleted_by: str | None = None

    @property
    def written(self) -> str:
        return f"{self.project}/{self.name}"

    @property
    def is_claim(self) -> bool:
        """True if it is no directory that machines see, but mounted in pods."""
        return bool(self.storage_class)

    @property
    def path(self) -> str:
        """Where machines see it that have the volume; of a claim, what agents know it by."""
        return f"{self.volume_path}/workspaces/{self.project_id}/{self.id}/tree"

    @property
    def used_bytes(self) -> int:
        """What its files hold, whether others share their blocks or not."""
        return self.unique_bytes + self.shared_bytes

    @property
    def over_bytes(self) -> int:
        """How much larger it is than it may be."""
        return max(0, self.used_bytes - self.size_bytes)

    @property
    def is_usable(self) -> bool:
        return self.state is WorkspaceState.READY and self.deleted_at is None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceSnapshot:
    """A frozen state of a workspace, under one name wherever it lies."""

    workspace_id: str
    number: int
    name: str
    # Those of one series are kept by one rule: `daily` of `daily.20261118-0300`.
    series: str = ""
    origin: SnapshotOrigin = SnapshotOrigin.MANUAL
    created_by: str
    created_at: datetime
    # When the tree was frozen.
    taken_at: datetime | None = None
    state: SnapshotState = SnapshotState.TAKING
    attempt: int
    # Whether the copy on the volume is there, and the commit that keeps it.
    is_near: bool = False
    commit_id: str | None = None
    # The copy on the volume is to go; the commit stays.
    leaves_volume: bool = False
    consistency: Consistency | None = None
    files: int = 0
    bytes: int = 0
    unique_bytes: int = 0
    done_bytes: int = 0
    # The run that it belongs to: then no rule removes it.
    run_id: str | None = None
    keep: KeepRule | None = None
    problem: str | None = None

    @property
    def is_there(self) -> bool:
        """True if it can be restored or cloned."""
        return self.state in (SnapshotState.NEAR, SnapshotState.KEPT)

    @property
    def branch(self) -> str:
        """The branch of the hidden dataset that its commit is on."""
        return f"{self.workspace_id}/{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotSchedule:
    """Takes snapshots of a series by itself: by a cron expression, or every so many seconds."""

    id: str
    workspace_id: str
    series: str
    cron: str = ""
    timezone: str = "UTC"
    every_seconds: int = 0
    keep: KeepRule | None = None
    created_by: str
    created_at: datetime
    next_at: datetime
    last_at: datetime | None = None
    problem: str | None = None

    @property
    def written(self) -> str:
        return f"{self.cron} ({self.timezone})" if self.cron else f"every {format_seconds(self.every_seconds)}"


def check_snapshot_name(name: str) -> str:
    """`name` itself if a snapshot may have it; BadName otherwise."""
    if not _SNAPSHOT.fullmatch(name) or ".." in name:
        raise BadName(
            f"{name[:127]!r} is not a valid name for a snapshot.",
            hint="Use 1 to 127 letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
    return name


def split_workspace(text: str) -> tuple[str, str | None]:
    """Name and snapshot of `W`, `W@SNAPSHOT` or `W@daily*`."""
    name, at, snapshot = text.partition("@")
    check_name(name, "workspace")
    if at and not snapshot:
        raise BadName(f"{text!r} names no snapshot.", hint="Write it as WORKSPACE@SNAPSHOT.")
    if snapshot:
        check_snapshot_name(snapshot.removesuffix("*") or "x")
    return name, snapshot or None


def split_snapshot(text: str) -> tuple[str, str]:
    """Name and snapshot of `W@SNAPSHOT`; BadRequest without a snapshot."""
    name, snapshot = split_workspace(text)
    if snapshot is None:
        raise BadRequest(f"{text!r} names no snapshot.", hint="Write it as WORKSPACE@SNAPSHOT.")
    return name, snapshot


def parse_keep(text: str) -> KeepRule:
    """`7` for the newest seven, `30d` for thirty days."""
    plain = text.strip()
    if plain.isdecimal():
        if not 1 <= int(plain) <= MOST_KEPT:
            raise BadRequest(f"--keep {text} is out of range.", hint=f"Keep 1 to {MOST_KEPT} snapshots.")
        return KeepRule(count=int(plain))
    try:
        return KeepRule(seconds=parse_seconds(plain, least=60, most=36_500 * DAY))
    except BadRequest as error:
        raise BadRequest(
            f"{text!r} does not say how many snapshots to keep.", hint="Write a number, like 7, or a time, like 30d."
        ) from error


def snapshot_name(series: str, moment: datetime, taken: Iterable[str]) -> str:
    """A new name of a series: `daily.20261118-030000`, with a number behind it if that is taken."""
    base = f"{series}.{moment:%Y%m%d-%H%M%S}"
    known = set(taken)
    number, name = 2, base
    while name in known:
        name, number = f"{base}-{number}", number + 1
    return name


def matching(snapshots: Iterable[WorkspaceSnapshot], written: str) -> list[WorkspaceSnapshot]:
    """Those that `written` names, newest first: by name, by number, or with `*` at its end by the beginning."""
    found = [
        one
        for one in snapshots
        if one.name == written or ("*" in written and fnmatchcase(one.name, written)) or str(one.number) == written
    ]
    exact = [one for one in found if one.name == written]
    return exact or sorted(found, key=lambda one: one.number, reverse=True)


def format_keep(rule: KeepRule | None) -> str:
    """As people write it: `7`, `30d`; empty without a rule."""
    if rule is None:
        return ""
    if rule.count is not None:
        return str(rule.count)
    seconds = rule.seconds or 0
    return f"{seconds // DAY}d" if seconds % DAY == 0 else f"{seconds}s"


def keep_since(rule: KeepRule, now: datetime) -> datetime | None:
    """Since when a rule by age keeps."""
    return now - timedelta(seconds=rule.seconds) if rule.seconds is not None else None
