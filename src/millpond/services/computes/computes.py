"""Computes as people see them: each with its nodes, and how much of them is promised to jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import Connection

from millpond.db import computes as rows
from millpond.db import nodes, placements, trust
from millpond.db.placements import HeldRow
from millpond.model.compute import APART, Compute, Node, Trust
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
    # No agent has reported yet.
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
    """`running` counts jobs, wherever they run: also on nodes that have left."""

    compute: Compute
    connected: bool
    nodes: Sequence[NodeUse]
    running: int
    trust: Trust = APART

    @property
    def health(self) -> Health:
        """In one word: the first of these that holds."""
        if self.compute.revoked_at is not None:
            return Health.REVOKED
        if self.compute.seen_at is None:
            return Health.NEW
        if not self.connected:
            return Health.AWAY
        if self.compute.cordoned_at is not None:
            return Health.DRAINING if self.running else Health.CORDONED
        return Health.OK


def list_computes(deps: Deps, *, limit: int, cursor: str | None) -> Listing[ComputeView]:
    """By name."""
    with deps.db.read() as tx:
        found = rows.page(tx, limit=limit + 1, after=text_of(cursor))
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda view: view.compute.name)


def get(deps: Deps, name: str) -> ComputeView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, name)], deps.clock.now())[0]


def find(tx: Connection, name: str) -> Compute:
    return _known(tx, name, rows.find(tx, name))


def lock(tx: Connection, name: str) -> Compute:
    """Read it to change it: nothing is placed there by anybody else until this transaction ends."""
    return _known(tx, name, rows.lock_named(tx, name))


def _known(tx: Connection, name: str, found: Compute | None) -> Compute:
    if found is None:
        raise access.not_found("compute", name, [compute.name for compute in rows.all_computes(tx)])
    return found


def views(tx: Connection, found: Sequence[Compute], now: datetime) -> list[ComputeView]:
    """Nodes that have left are shown while jobs still run there."""
    held: dict[tuple[str, str], list[HeldRow]] = defaultdict(list)
    running: dict[str, set[str]] = defaultdict(set)
    for row in placements.held(tx):
        held[row.compute_id, row.node].append(row)
        running[row.compute_id].add(row.placement_id)
    uses: Mapping[str, list[NodeUse]] = defaultdict(list)
    for node in _shown_nodes(tx, [compute.id for compute in found], held.keys()):
        uses[node.compute_id].append(_use(node, held[node.compute_id, node.name]))
    trusts = trust.of_computes(tx)
    return [
        ComputeView(
            compute,
            is_connected(compute.seen_at, now),
            uses[compute.id],
            running=len(running[compute.id]),
            trust=trusts.get(compute.id, APART),
        )
        for compute in found
    ]


def _shown_nodes(tx: Connection, compute_ids: Sequence[str], used: Collection[tuple[str, str]]) -> list[Node]:
    present = list(nodes.present(tx, compute_ids))
    missing = set(used) - {(node.compute_id, node.name) for node in present}
    left = nodes.all_of(tx, {compute_id for compute_id, _ in missing} & set(compute_ids)) if missing else ()
    return present + [node for node in left if (node.compute_id, node.name) in missing]


def _use(node: Node, held: Sequence[HeldRow]) -> NodeUse:
    return NodeUse(
        node=node,
        running=len({row.placement_id for row in held}),
        cpu_used=sum(row.resources.cpu for row in held),
        memory_used_bytes=sum(row.resources.memory_bytes for row in held),
        gpu_used_hundredths=sum(row.resources.gpu_hundredths for row in held),
    )
