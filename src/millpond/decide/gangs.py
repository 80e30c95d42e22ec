"""Distributed jobs: over which nodes of one compute their processes are spread, all of them or none.

As few nodes as can be, the roomiest first: processes that share a machine reach each other fastest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy

from millpond.decide.computes import QueuedJob
from millpond.decide.node_room import NodeRoom


def spread(job: QueuedJob, rooms: Sequence[NodeRoom]) -> list[tuple[NodeRoom, int]]:
    """How many processes go to which of these nodes of one compute; empty where there is not room for all.

    Of nodes that take equally many, the one that comes first.
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
    """For each compute of these nodes, how far its room would go."""
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
    """How many of its processes fit into all of these nodes together."""
    return sum(_fitting(job, room) for room in rooms)


def said(why: str, job: QueuedJob, found: Sequence[tuple[NodeRoom, int]]) -> str:
    """Why it is placed where it is, with how it is spread."""
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
