"""Mirrors: what datasets and workspaces hold, kept the same in buckets and at other sites."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.base import Request, Response, Time

_EVERY = Field(default=3600, ge=60, le=31 * 86_400)


class MirrorCreate(Request):
    """What a branch of a dataset or a workspace holds is brought to its target now and again every so often."""

    source: str = Field(
        max_length=1000,
        description="DATASET[@BRANCH] or WORKSPACE[@LABEL]; `dataset:` or `workspace:` before a name that both have.",
    )
    target: str = Field(max_length=4000, description="s3://bucket/prefix, or the name of a site.")
    name: str | None = None
    # Of a workspace: its newest kept snapshot of this series; without one, the mirror takes snapshots itself.
    label: str = Field(default="", max_length=127)
    # To a bucket: the one that covers the prefix without this.
    connection: str | None = None
    # At a site: the best of its volumes without this.
    volume: str | None = None
    every_seconds: int = _EVERY


class MirrorChange(Request):
    """What is null stays. Who resumes a mirror is the one in whose name it runs from then on."""

    paused: bool | None = None
    every_seconds: int | None = Field(default=None, ge=60, le=31 * 86_400)


class MirrorIssue(Response):
    """A file that was not mirrored, and why."""

    path: str
    reason: str


class MirrorResult(Response):
    """What a run did, or with `dry_run` would do. Of conflicts, and of files left out or failed, the first hundred are
    named."""

    dry_run: bool = False
    copied: int
    copied_bytes: int
    unchanged: int
    removed: int
    conflict_count: int = 0
    conflicts: list[MirrorIssue] = []
    skipped_count: int = 0
    skipped: list[MirrorIssue] = []
    failed_count: int = 0
    failed: list[MirrorIssue] = []


class MirrorLag(Response):
    """How far the target is behind: commits of the branch, or snapshots; bytes that would be sent; since when."""

    commits: int
    bytes: int
    seconds: float


class Mirror(Response):
    id: str
    project: str
    name: str
    # As it was written: DATASET@BRANCH, WORKSPACE or WORKSPACE@LABEL.
    source: str
    dataset: str | None
    branch: str | None
    workspace: str | None
    label: str | None
    # s3://bucket/prefix/, or the site and the volume.
    target: str
    connection: str | None
    uri: str | None
    site: str | None
    volume: str | None
    every_seconds: int
    # In whose name it runs; none if that user is gone.
    user: str | None
    state: Literal["running", "waiting", "failing", "paused"]
    # What the run under way does or waits for.
    progress: str | None
    created_at: Time
    asked_at: Time | None
    started_at: Time | None
    ended_at: Time | None
    # None while it is paused or running.
    next_at: Time | None
    # What the target holds, and as of when its source had that.
    commit_id: str | None
    content_at: Time | None
    mirrored_at: Time | None
    # None as long as nobody has counted.
    lag: MirrorLag | None
    result: MirrorResult | None
    problem: str | None
    failures: int
