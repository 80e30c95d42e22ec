"""A running server, one of those that share a database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

# A process that was not heard of for so long has ended, or cannot reach the database.
GONE = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class ServerProcess:
    id: str
    host: str
    # Where the other servers reach it.
    url: str
    version: str
    # Equal for servers that seal with the same key.
    key_mark: str
    started_at: datetime | None = None
    seen_at: datetime | None = None
