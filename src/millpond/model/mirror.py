"""Mirrors: what a dataset branch or a workspace holds, kept the same in a bucket or on a volume of another site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Mirror:
    """From a branch of a dataset, or from a workspace; to a prefix of a connection, or to a volume."""

    id: str
    project_id: str
    name: str
    # In whose name it runs; None: that user is gone.
    user_id: str | None
    dataset_id: str | None = None
    branch: str = ""
    workspace_id: str | None = None
    # Of a workspace: snapshots of this series are mirrored; without one, snapshots that the mirror has taken itself.
    label: str = ""
    connection_id: str | None = None
    # Ends with '/'; empty for a volume.
    uri: str = ""
    volume_id: str | None = None
    every_seconds: int
    created_at: datetime
    # When a server looks at it next: for its next run, or to go on with the one under way.
    next_at: datetime
    paused_at: datetime | None = None
    runner: str | None = None
    runner_until: datetime | None = None
    # The run that is under way, since when.
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # When somebody last asked for a run.
    asked_at: datetime | None = None
    # What the run under way does or waits for, in words.
    progress: str | None = None
    # The snapshot that this run has had taken, and the commit that it brings.
    snapshot: int | None = None
    bringing: str | None = None
    # What the target holds, as of which time of the source, and when that was seen last.
    commit_id: str | None = None
    content_at: datetime | None = None
    mirrored_at: datetime | None = None
    result: Mapping[str, Any] | None = None
    problem: str | None = None
    failures: int = 0
    # What the source had when the difference was counted, and the difference.
    lag_head: str | None = None
    lag_commits: int = 0
    lag_bytes: int = 0
    lag_since: datetime | None = None

    @property
    def is_under_way(self) -> bool:
        return self.started_at is not None and (self.ended_at is None or self.started_at > self.ended_at)

    @property
    def is_to_bucket(self) -> bool:
        return self.connection_id is not None


@dataclass(frozen=True, slots=True)
class MirroredObject:
    """An object that a mirror has put: what its bucket said of it, and the digest of the file that it was then."""

    path: bytes
    etag: str
    size: int
    digest: bytes

    @property
    def seal(self) -> str:
        return seal_of(self.size, self.etag)


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a target is behind its source. `commits` counts at most `MOST_COUNTED`."""

    commits: int
    bytes: int
    seconds: float


# Commits of a history that are counted.
MOST_COUNTED = 1000


def seal_of(size: int, etag: str) -> str:
    """What tells an object from another one at the same key. One text, because a mirror has many in memory."""
    return f"{size}:{etag}"
