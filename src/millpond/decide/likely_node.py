"""Where a job would run if nothing else did: the place to fetch its data and build its environment while it waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millpond.decide.capability import why_unable
from millpond.decide.computes import NodeView, QueuedJob
from millpond.decide.empty_nodes import processes_that_fit
from millpond.decide.offers import data_fill
from millpond.decide.places import Zone, why_zone_unable
from millpond.decide.score import fill_cost


def likely_node(
    job: QueuedJob, nodes: Iterable[NodeView], zones: Mapping[str, Zone], *, fill_price: float = 1.0
) -> NodeView | None:
    """The open node it fits on where its data costs least, then with the fewest GPUs; None if there is none.

    `zones` by compute id. A distributed job needs room for all of its processes on one compute.
    """
    able = [
        node
        for node in nodes
        if node.is_open
        and node.answers_to(job.spec.compute)
        and why_zone_unable(job, zones[node.compute_id]) is None
        and why_unable(job, node) is None
    ]
    if job.spec.processes:
        able = [node for node in able if _has_room_for_all(job, node, able)]
    return min(able, key=lambda node: _rank(job, node, zones[node.compute_id], fill_price), default=None)


def _has_room_for_all(job: QueuedJob, node: NodeView, able: list[NodeView]) -> bool:
    beside = [one for one in able if one.compute_id == node.compute_id]
    return processes_that_fit(job, beside) >= job.spec.processes


def _rank(job: QueuedJob, node: NodeView, zone: Zone, fill_price: float) -> tuple[float, int, str, str]:
    return (fill_cost(data_fill(job, zone), fill_price), node.gpus, node.compute, node.name)
