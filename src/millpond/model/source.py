"""Sources: places whose objects come into a dataset again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """What is brought where, how often, in whose name, and how the last run went."""

    id: str
    project_id: str
    name: str
    dataset_id: str
    connection_id: str
    # None: the user in whose name it committed is gone.
    user_id: str | None
    uri: str
    # Whether `uri` is a text that lists files.
    listing: bool
    # The directory of the dataset; empty for its root.
    path: bytes
    branch: str
    # Whether content is copied into the lake rather than registered.
    copies: bool
    every_seconds: int
    created_at: datetime
    next_at: datetime
    paused_at: datetime | None = None
    runner: str | None = None
    runner_until: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    result: Mapping[str, Any] | None = None
    problem: str | None = None
    failures: int = 0

    def is_running(self, now: datetime) -> bool:
        return self.runner is not None and self.runner_until is not None and self.runner_until > now


@dataclass(frozen=True, slots=True)
class SourceObject:
    """What a source put at a path: the object as it was then, and the digest of the entry that stands for it."""

    path: bytes
    etag: str | None
    size: int
    digest: bytes
