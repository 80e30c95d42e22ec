"""Distributed jobs: spreads processes over the nodes of one compute, all or none.

As few nodes as possible, largest free capacity first: processes on one machine communicate fastest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy

from millpond.decide.computes import QueuedJob
from millpond.decide.node_room import NodeRoom


def spread(job: QueuedJob, rooms: Sequence[NodeRoom]) -> list[tuple[NodeRoom, int]]:
    """Number of processes per node; empty if they do not all fit.

    Ties are broken by the order of nodes.
    """
    counts = sorted(((room, _fitting(job, room)) for room in rooms), key=lambda one: -one[1])
    chosen: list[tuple[NodeRoom, int]] = []
    left = job.spec.processes
    for room, count in counts:
        if left and count:
            chosen.append((room, min(left, count)))
            left -= min(left, count)
    return [] if left else chosen


def too_little(job: QueuedJob, rooms: Sequence[NodeRoom]) -> list[str]:
    """For each compute of these nodes, how many processes would fit."""
    by_compute: dict[str, list[NodeRoom]] = defaultdict(list)
    for room in rooms:
        by_compute[room.node.compute].append(room)
    counts = {compute: most(job, found) for compute, found in by_compute.items()}
    return [
        f"{compute} has room for {count} of {job.spec.processes} processes now; all start together or none."
        for compute, count in counts.items()
        if count < job.spec.processes
    ]


def most(job: QueuedJob, rooms: Sequence[NodeRoom]) -> int:
    """Number of processes that fit into these nodes together."""
    return sum(_fitting(job, room) for room in rooms)


def said(why: str, job: QueuedJob, found: Sequence[tuple[NodeRoom, int]]) -> str:
    """The reason for a placement, extended by how processes are spread."""
    if len(found) == 1:
        return f"{why.removesuffix('.')} ({job.spec.processes} processes)."
    nodes = ", ".join(f"{count} on {room.node.name}" for room, count in found)
    return f"{why.removesuffix('.')} ({job.spec.processes} processes: {nodes})."


def _fitting(job: QueuedJob, room: NodeRoom) -> int:
    tried = deepcopy(room)
    count = 0
    while count < job.spec.processes and tried.lacks(job.spec.resources) is None:
        tried.take(job.spec.resources)
        count += 1
    return count
