"""Computes as people see them: each agent with its nodes and how much of them is promised to jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import Connection

from millpond.db import agents, placements, trust
from millpond.db.placements import HeldRow
from millpond.model.agent import Agent, Node
from millpond.model.compute import APART, Trust
from millpond.services.computes.presence import is_connected
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access


class Health(Enum):
    OK = "ok"
    # Nothing new is placed there; jobs still run, or not.
    DRAINING = "draining"
    CORDONED = "cordoned"
    AWAY = "away"
    # Its agent came in and has not told anything yet.
    NEW = "new"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class NodeUse:
    node: Node
    running: int
    cpu_used: int
    memory_used_bytes: int
    gpu_used_hundredths: int


@dataclass(frozen=True, slots=True)
class ComputeView:
    agent: Agent
    connected: bool
    nodes: Sequence[NodeUse]
    trust: Trust = APART

    @property
    def running(self) -> int:
        return sum(use.running for use in self.nodes)

    @property
    def health(self) -> Health:
        """In one word: the first of these that holds."""
        if self.agent.revoked_at is not None:
            return Health.REVOKED
        if self.agent.seen_at is None:
            return Health.NEW
        if not self.connected:
            return Health.AWAY
        if self.agent.cordoned_at is not None:
            return Health.DRAINING if self.running else Health.CORDONED
        return Health.OK


def list_computes(deps: Deps, *, limit: int, cursor: str | None) -> Listing[ComputeView]:
    """By name."""
    with deps.db.read() as tx:
        found = agents.page(tx, limit=limit + 1, after=text_of(cursor))
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda view: view.agent.name)


def get(deps: Deps, name: str) -> ComputeView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, name)], deps.clock.now())[0]


def find(tx: Connection, name: str) -> Agent:
    return _known(tx, name, agents.find(tx, name))


def lock(tx: Connection, name: str) -> Agent:
    """Read it to change it: nothing is placed there by anybody else until this transaction ends."""
    return _known(tx, name, agents.lock_named(tx, name))


def _known(tx: Connection, name: str, found: Agent | None) -> Agent:
    if found is None:
        raise access.not_found("compute", name, [agent.name for agent in agents.all_agents(tx)])
    return found


def views(tx: Connection, found: Sequence[Agent], now: datetime) -> list[ComputeView]:
    held: dict[tuple[str, str], list[HeldRow]] = defaultdict(list)
    for row in placements.held(tx):
        held[row.agent_id, row.node].append(row)
    nodes: Mapping[str, list[NodeUse]] = defaultdict(list)
    for node in agents.nodes(tx, [agent.id for agent in found]):
        nodes[node.agent_id].append(_use(node, held[node.agent_id, node.name]))
    trusts = trust.of_agents(tx)
    return [
        ComputeView(agent, is_connected(agent.seen_at, now), nodes[agent.id], trusts.get(agent.id, APART))
        for agent in found
    ]


def _use(node: Node, held: Sequence[HeldRow]) -> NodeUse:
    return NodeUse(
        node=node,
        running=len({row.placement_id for row in held}),
        cpu_used=sum(row.resources.cpu for row in held),
        memory_used_bytes=sum(row.resources.memory_bytes for row in held),
        gpu_used_hundredths=sum(row.resources.gpu_hundredths for row in held),
    )
