"""Computes as people see them: each agent with its nodes and how much of them is promised to jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, placements
from millpond.db.placements import HeldRow
from millpond.model.job import Agent, Node
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.presence import is_connected


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


def list_computes(deps: Deps, *, limit: int, cursor: str | None) -> Listing[ComputeView]:
    """By name."""
    with deps.db.read() as tx:
        found = agents.page(tx, limit=limit + 1, after=text_of(cursor))
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda view: view.agent.name)


def views(tx: Connection, found: Sequence[Agent], now: datetime) -> list[ComputeView]:
    held: dict[tuple[str, str], list[HeldRow]] = defaultdict(list)
    for row in placements.held(tx):
        held[row.agent_id, row.node].append(row)
    nodes: Mapping[str, list[NodeUse]] = defaultdict(list)
    for node in agents.nodes(tx, [agent.id for agent in found]):
        nodes[node.agent_id].append(_use(node, held[node.agent_id, node.name]))
    return [ComputeView(agent, is_connected(agent.seen_at, now), nodes[agent.id]) for agent in found]


def _use(node: Node, held: Sequence[HeldRow]) -> NodeUse:
    return NodeUse(
        node=node,
        running=len(held),
        cpu_used=sum(row.resources.cpu for row in held),
        memory_used_bytes=sum(row.resources.memory_bytes for row in held),
        gpu_used_hundredths=sum(row.resources.gpu_hundredths for row in held),
    )
