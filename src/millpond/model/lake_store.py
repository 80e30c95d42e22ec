"""Where objects of the lake can be read: at its own endpoint, at one of a site, in a replica."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

# Ids of stores that are no replica: the lake as the server is set, and the endpoint of whoever asks.
OWN = "lake"
ENDPOINT = "endpoint"


@dataclass(frozen=True, slots=True)
class StoreSight:
    """Whether an agent could last read the lake from a store; `problem` is a sentence for people."""

    agent_id: str
    store_id: str
    problem: str | None
    seen_at: datetime
