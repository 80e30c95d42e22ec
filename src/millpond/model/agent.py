"""Agents and the nodes they speak for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Agent:
    """A process at a site that speaks for one compute and its nodes."""

    id: str
    name: str
    site_id: str
    site: str
    driver: str
    version: str
    created_at: datetime
    seen_at: datetime | None
    instance: str | None
    # Nothing new is placed there, by whose word.
    cordoned_at: datetime | None = None
    cordoned_by: str | None = None
    # Its credential opens nothing any more.
    revoked_at: datetime | None = None
    # What its driver says it can do; None until it has said so.
    capabilities: Mapping[str, Any] | None = None
    # Where its jobs share one account, every project is let in.
    trusts_all: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """What an agent says it can run on. `declared` marks numbers that were told, not measured."""

    agent_id: str
    name: str
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_model: str
    declared: bool
    labels: Mapping[str, str] = field(default_factory=dict)
