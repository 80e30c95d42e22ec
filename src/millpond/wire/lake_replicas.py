"""Replicas of the lake on the wire. Credentials come in and never go out."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response, Time
from millpond.wire.imports import Credentials


class LakeReplicaCreate(Request):
    """A copy of the lake at `url`, for these sites. Without credentials those of the lake open it."""

    name: str
    url: str = Field(description="s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.", max_length=4000)
    endpoint: str | None = Field(default=None, max_length=300)
    region: str | None = Field(default=None, max_length=63)
    sites: list[str] = Field(max_length=1000)
    credentials: Credentials | None = None


class LakeReplica(Response):
    """A copy of the lake, what it holds, and what it lacks of the lake."""

    id: str
    name: str
    url: str
    endpoint: str | None
    region: str
    has_credentials: bool
    sites: list[str]
    created_at: Time
    created_by: str
    # In words: "up to date", or how far it is behind.
    state: str
    commits_behind: int
    packs_behind: int
    bytes_behind: int
    # Since when the oldest commit that it lacks is in the lake; 0 if it lacks none.
    seconds_behind: float
    packs: int
    bytes: int
    # When it last held everything.
    synced_at: Time | None
    # Why the last round of copying failed.
    problem: str | None


class ReplicaChecked(Response):
    """Objects that should be in the replica; those missing or of another size are copied again."""

    objects: int
    missing: int
    wrong: int
    # Objects that nothing needs yet, or any more.
    extra: int
    # Keys of some that are missing or wrong.
    examples: list[str]
