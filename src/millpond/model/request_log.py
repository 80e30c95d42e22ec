"""Request logs of endpoints, on their way from a router to a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class StagedLog:
    """An endpoint's part of one file of a router's log, known by the digest of its content."""

    endpoint_id: str
    digest: str
    rows: int
    bytes: int
    received_at: datetime
