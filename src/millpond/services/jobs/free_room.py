"""What is free on nodes as one transaction sees it: for whoever is about to promise some of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import computes, scheduling
from millpond.decide.computes import NodeView
from millpond.decide.places import size_of
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Node, Size
from millpond.model.job import Job, RankPlace
from millpond.services.jobs import snapshot


class FreeRoom:
    """Without what jobs hold, what is kept for nominated ones, and what the transaction has promised itself.

    Two servers may plan at once: a compute's row stands for the room on its nodes, so they take turns, and whoever
    comes second looks again.
    """

    def __init__(self, tx: Connection, compute_ids: Collection[str], now: datetime) -> None:
        for compute_id in sorted(compute_ids):
            computes.lock(tx, compute_id)
        self._nodes = {(node.compute_id, node.name): node for node in snapshot.node_views(tx, now, compute_ids)}
        self._rooms = {key: _room(node, order) for order, (key, node) in enumerate(sorted(self._nodes.items()))}
        held = scheduling.running(tx, compute_ids)
        kept = [row for row in scheduling.nominated(tx) if row.compute_id in compute_ids]
        specs = scheduling.specs(tx, {row.class_key for row in (*held, *kept)})
        for row in held:
            self._hold(row.compute_id, row.id, size_of(specs[row.class_key]), _places(row))
        for row in kept:
            self._hold(row.compute_id, _kept(row.id), size_of(specs[row.class_key]), _places(row))

    def has(self, compute_id: str, places: Sequence[RankPlace], job: Job) -> bool:
        """True if these GPUs, and the CPUs and memory beside them, are free for the job on nodes that are open."""
        size = size_of(job.spec)
        rooms: dict[str, Room] = {}
        for place in places:
            node = self._nodes.get((compute_id, place.node))
            if node is None or not node.is_open or node.agent_id is None:
                return False
            if place.node not in rooms:
                room = self._rooms[compute_id, place.node]
                rooms[place.node] = room.freed_by([_kept(job.id)] if _kept(job.id) in room.holds else [])
            if not rooms[place.node].has_free(size, place.gpu_indices):
                return False
            rooms[place.node].hold(job.id, size, place.gpu_indices)
        return True

    def agent_of(self, compute_id: str, node: str) -> str | None:
        """The agent that runs jobs on a node."""
        return self._nodes[compute_id, node].agent_id

    def take(self, compute_id: str, places: Sequence[RankPlace], job: Job) -> None:
        self._hold(compute_id, job.id, size_of(job.spec), places)

    def keep(self, compute_id: str, places: Sequence[RankPlace], job: Job) -> None:
        """For a job that has just been nominated."""
        self._hold(compute_id, _kept(job.id), size_of(job.spec), places)

    def _hold(self, compute_id: str, job_id: str, size: Size, places: Sequence[RankPlace]) -> None:
        for place in places:
            room = self._rooms.get((compute_id, place.node))
            if room is not None:
                room.hold(job_id, size, place.gpu_indices)


def _kept(job_id: str) -> str:
    return f"nominated {job_id}"


def _room(node: NodeView, order: int) -> Room:
    return Room(Node(node.written, node.compute, node.gpus, node.cpus, node.memory_bytes), order)


def _places(row: Any) -> Sequence[RankPlace]:
    """A nomination has a place for each process; a placement of a plain command names its node."""
    return scheduling.rank_places(row.places) or (RankPlace(row.node, tuple(row.gpu_indices)),)
