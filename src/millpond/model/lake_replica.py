"""Replicas: copies of the lake in other object stores, which the server keeps up to date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LakeReplica:
    """A copy of the lake at `url`. `sites` (ids) read from it; `sealed` are its credentials, None: the lake's own."""

    id: str
    name: str
    url: str
    endpoint: str | None
    region: str
    sealed: bytes | None = field(repr=False)
    created_at: datetime
    created_by: str
    sites: Sequence[str] = ()
    # When it last held everything, and when what the lake no longer has was last removed.
    synced_at: datetime | None = None
    cleaned_at: datetime | None = None
    # Why the last round failed, and when.
    problem: str | None = None
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LakeReplicaLag:
    """What a replica lacks: commits, packs and their bytes, and since when the oldest of the commits is in the lake."""

    commits: int = 0
    packs: int = 0
    bytes: int = 0
    since: datetime | None = None

    @property
    def is_none(self) -> bool:
        return not self.commits and not self.packs
