"""What would fit if nothing else ran: for whoever asks what could ever run, and where a job is likely to."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.decide.computes import NodeView, QueuedJob
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Node, Size


def processes_that_fit(job: QueuedJob, nodes: Sequence[NodeView]) -> int:
    """How many processes of a distributed job fit into all of these nodes together, at most as many as it has."""
    spec = job.spec
    size = Size(spec.gpu_hundredths, spec.cpu, spec.memory_bytes, spec.processes)
    rooms = [
        Room(Node(node.written, node.compute, node.gpus, node.cpus, node.memory_bytes), order)
        for order, node in enumerate(nodes)
    ]
    return min(spec.processes, sum(room.count(size, spec.processes) for room in rooms))
