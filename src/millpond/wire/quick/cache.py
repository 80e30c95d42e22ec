"""What adding a cached commit and waiting for it asks for and is told."""

from __future__ import annotations

from datetime import datetime

from millpond.model.cached_state import CachedState
from millpond.model.quantity import DAY
from millpond.wire.quick.shape import QuickShape

_OF = "millpond.wire.cache"


class CacheAdd(QuickShape, of=_OF):
    dataset: str
    project: str | None = None
    volume: str | None = None
    near: str | None = None


class CachedCommit(QuickShape, of=_OF):
    id: str
    volume: str
    project: str
    dataset: str
    commit_id: str
    path: str
    state: CachedState
    bytes: int
    files: int
    done_bytes: int
    done_files: int
    expires_at: datetime | None
    idle_seconds: int = DAY
    reason: str
    problem: str | None
    fetch_bytes: int | None = None
    base: str | None = None
    waiting: bool = False
    bytes_per_second: float | None = None
    seconds_left: float | None = None


class CacheAdded(QuickShape, of=_OF):
    cached: CachedCommit
    reasons: list[str]
