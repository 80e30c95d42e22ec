"""Computes and their nodes, whom they trust, join tokens, and tests of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from millpond.model.agent import Agent

# Tells a join token from every other: an agent exchanges it, and never keeps it.
JOIN_PREFIX = "mill_join_"


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom a place takes. Where jobs can read each other's files (`shared`): all, or projects that were let in."""

    shared: bool = False
    all: bool = False
    projects: frozenset[str] = frozenset()  # by id

    def accepts(self, project_id: str) -> bool:
        return not self.shared or self.all or project_id in self.projects


# Every project is kept from the others there, and may come.
APART = Trust()


@dataclass(frozen=True, slots=True)
class Compute:
    """What jobs run on: a machine or a cluster at a site, with its nodes.

    It outlives the agents that speak for it: history, settings and trust are the compute's.
    """

    id: str
    name: str
    site_id: str
    site: str
    driver: str
    created_at: datetime
    # The one that speaks for it, or did last; None before the first has joined.
    agent: Agent | None = None
    # What its driver can do; None until an agent has reported it.
    capabilities: Mapping[str, Any] | None = None
    # Where jobs share one account: every project is trusted.
    trusts_all: bool = False
    # No new jobs since then, and who said so.
    cordoned_at: datetime | None = None
    cordoned_by: str | None = None

    @property
    def seen_at(self) -> datetime | None:
        return self.agent.seen_at if self.agent else None

    @property
    def revoked_at(self) -> datetime | None:
        """When the credential of its agent was revoked; None while it counts."""
        return self.agent.revoked_at if self.agent else None

    def can(self, capability: str) -> bool:
        return bool((self.capabilities or {}).get(capability))


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of a compute. `declared` marks numbers that were told, not measured."""

    compute_id: str
    name: str
    cpus: int
    memory_bytes: int
    gpus: int = 0
    gpu_model: str = ""
    declared: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    # Of each GPU; 0: unknown.
    gpu_memory_bytes: int = 0
    # Why its cluster starts nothing new there, in the cluster's words; None where it does.
    closed: str | None = None
    # The agent that reports it and runs its jobs, and when that was last heard of.
    agent_id: str | None = None
    seen_at: datetime | None = None
    # When it left its compute: nothing starts there any more, jobs that ran there still name it.
    left_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class JoinToken:
    """Lets one agent in at one site, once, until it expires; only its SHA-256 is stored.

    With `compute_id`, the agent speaks for that compute from then on; otherwise for a new one.
    """

    id: str
    site_id: str
    site: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    # The agent that joined with it.
    agent_id: str | None = None
    compute_id: str | None = None
    # The name of the compute it is for, or that joined with it, while that is attached.
    compute: str | None = None
    # Of an installation that makes server and agent at once: it lets the agent of its compute in again and again.
    standing: bool = False


@dataclass(frozen=True, slots=True)
class ComputeTest:
    """What a compute's agent was asked to try, and found. `checks` is None until it has answered."""

    id: str
    compute_id: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None = None
    checks: Sequence[Mapping[str, Any]] | None = None
