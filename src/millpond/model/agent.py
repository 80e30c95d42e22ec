"""Agents: the processes that speak for computes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Agent:
    """A process with a credential of its own that speaks for one compute. Names and site are those of its compute."""

    id: str
    compute_id: str
    compute: str
    site_id: str
    site: str
    version: str
    created_at: datetime
    # When it was last heard of; None before its first report.
    seen_at: datetime | None = None
    # Tells the processes of one agent apart: the newest counts.
    instance: str | None = None
    # Its credential is refused since then.
    revoked_at: datetime | None = None
    # The fingerprint of its certificate, while it serves its volumes to other sites.
    peer: str | None = None
    # The server process that took its newest report.
    heard_by: str | None = None
