"""Which queued job starts where, and why the others wait: a pure function of one snapshot of the computes.

First come, first served within a priority, with backfill: jobs are tried in the order they are given, and one that
does not fit now does not hold up a later one that does. Nothing is kept free for a large job while it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.decide import gangs
from millpond.decide.bandwidth import expected_seconds
from millpond.decide.capability import why_unable
from millpond.decide.computes import Held, NearView, Need, NodeView, QueuedJob, Snapshot
from millpond.decide.node_room import NodeRoom
from millpond.model.job import RankPlace
from millpond.model.job_spec import Resources
from millpond.model.quantity import format_bytes, format_count, format_seconds

__all__ = [
    "Held", "NearView", "Need", "NodeView", "Plan", "QueuedJob", "Snapshot", "Start",
    "likely_node", "plan_starts", "still_fits",
]  # fmt: skip

MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    compute_id: str
    node: str
    gpu_indices: tuple[int, ...]
    reasons: tuple[str, ...]
    # Of a distributed job, where each of its processes goes; `node` is that of the first.
    places: tuple[RankPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    starts: tuple[Start, ...]
    waits: Mapping[str, tuple[str, ...]]


def plan_starts(snapshot: Snapshot) -> Plan:
    """Every job either starts or waits with its reasons. Equal snapshots give equal plans, in any process."""
    nodes = sorted(snapshot.nodes, key=lambda node: (node.compute, node.name))
    rooms = [NodeRoom(node) for node in nodes]
    starts: list[Start] = []
    waits: dict[str, tuple[str, ...]] = {}
    for job in snapshot.jobs:
        start = _start_gang(job, rooms, snapshot) if job.spec.processes else _start(job, rooms, snapshot)
        if start is None:
            waits[job.id] = _why_not(job, rooms, snapshot)
        else:
            starts.append(start)
    return Plan(tuple(starts), waits)


def likely_node(job: QueuedJob, snapshot: Snapshot) -> NodeView | None:
    """Where a job would run if nothing else did: the place to bring its data while it waits."""
    rooms = [NodeRoom(_emptied(node)) for node in sorted(snapshot.nodes, key=lambda node: (node.compute, node.name))]
    if job.spec.processes:
        found = _spread(job, rooms, snapshot)
        return found[0][0].node if found else None
    room = _choose(job, rooms, snapshot)
    return room.node if room else None


def still_fits(nodes: Iterable[NodeView], resources: Resources, start: Start) -> bool:
    """Whether what a plan promised on these nodes is still free there."""
    rooms = {node.name: NodeRoom(node) for node in nodes if node.compute_id == start.compute_id}
    for place in start.places or (RankPlace(start.node, start.gpu_indices),):
        room = rooms.get(place.node)
        if room is None or not _is_open(room.node) or room.lacks(resources):
            return False
        if not room.has_free(resources.gpu_hundredths, place.gpu_indices):
            return False
        room.hold(resources, place.gpu_indices)
    return True


def _is_open(node: NodeView) -> bool:
    return node.cordoned_by is None and node.closed is None and not node.revoked


def _start(job: QueuedJob, rooms: Sequence[NodeRoom], snapshot: Snapshot) -> Start | None:
    room = _choose(job, rooms, snapshot)
    if room is None:
        return None
    indices = room.take(job.spec.resources)
    return Start(job.id, room.node.compute_id, room.node.name, indices, (_why_here(job, room.node, snapshot),))


def _start_gang(job: QueuedJob, rooms: Sequence[NodeRoom], snapshot: Snapshot) -> Start | None:
    """All of its processes, or none."""
    found = _spread(job, rooms, snapshot)
    if not found:
        return None
    places = tuple(
        RankPlace(room.node.name, room.take(job.spec.resources)) for room, many in found for _ in range(many)
    )
    first = found[0][0].node
    reasons = (gangs.said(_why_here(job, first, snapshot), job, found),)
    return Start(job.id, first.compute_id, first.name, places[0].gpu_indices, reasons, places)


def _spread(job: QueuedJob, rooms: Sequence[NodeRoom], snapshot: Snapshot) -> list[tuple[NodeRoom, int]]:
    """Over the nodes of the compute that has the least data to bring; nothing where no compute has room for all."""
    fitting = [room for room in rooms if _obstacle(job, room, snapshot) is None]
    by_rank = sorted(fitting, key=lambda room: _rank(job, room, snapshot))
    for compute_id in dict.fromkeys(room.node.compute_id for room in by_rank):
        found = gangs.spread(job, [room for room in by_rank if room.node.compute_id == compute_id])
        if found:
            return found
    return []


def _choose(job: QueuedJob, rooms: Sequence[NodeRoom], snapshot: Snapshot) -> NodeRoom | None:
    """The fitting node with the least data to bring, then the one that keeps the most GPUs together elsewhere."""
    fitting = [room for room in rooms if _obstacle(job, room, snapshot) is None]
    return min(fitting, key=lambda room: _rank(job, room, snapshot), default=None)


def _rank(job: QueuedJob, room: NodeRoom, snapshot: Snapshot) -> tuple[int, int, int, str, str]:
    missing = _missing_bytes(job, room.node, snapshot)
    return (missing, sum(room.gpus), room.jobs, room.node.compute, room.node.name)


def _obstacle(job: QueuedJob, room: NodeRoom, snapshot: Snapshot) -> str | None:
    """The first rule that keeps a job from this node, in words; None if it may start there now."""
    node = room.node
    if job.spec.compute is not None and node.compute != job.spec.compute:
        return f"The job may only run on {job.spec.compute}."
    if node.revoked:
        return (
            f"The credential of {node.compute} was revoked. Re-attach it: mill compute token --compute {node.compute}"
        )
    if not node.connected:
        return f"{node.written} is not connected."
    if node.cordoned_by is not None:
        return f"{node.compute} accepts no new jobs: cordoned by {node.cordoned_by}."
    if node.closed is not None:
        return f"{node.written} takes no new jobs: {node.closed}."
    if not node.trust.accepts(job.project_id):
        return (
            f"{node.compute} runs all jobs under one account, and project {job.project} is not "
            f"allowed there. An administrator can allow it: mill compute trust {node.compute} "
            f"--project {job.project}"
        )
    unable = why_unable(job, node)
    if unable:
        return unable
    near = snapshot.near.get(node.compute_id)
    if job.needs and (near is None or not near.volumes):
        return f"No working volume is near {node.compute} for the job's data. See: mill topology"
    return snapshot.blocked.get((job.id, node.compute_id)) or room.lacks(job.spec.resources)


def _why_not(job: QueuedJob, rooms: Sequence[NodeRoom], snapshot: Snapshot) -> tuple[str, ...]:
    if not rooms:
        return ("No compute has connected yet.",)
    found = [_obstacle(job, room, snapshot) for room in rooms]
    if job.spec.processes:
        open_ones = [room for room, obstacle in zip(rooms, found, strict=True) if obstacle is None]
        found = [*gangs.too_little(job, open_ones), *found]
    reasons = list(dict.fromkeys(reason for reason in found if reason))
    more = len(reasons) - MAX_REASONS
    return tuple(reasons[:MAX_REASONS]) + (
        (f"{format_count(more, 'other node')} cannot run it either.",) if more > 0 else ()
    )


def _why_here(job: QueuedJob, node: NodeView, snapshot: Snapshot) -> str:
    if not job.needs:
        return f"Placed on {node.written}."
    missing = _missing_bytes(job, node, snapshot)
    if not missing:
        return f"Placed on {node.written}: its data is cached there or on the way."
    near = snapshot.near.get(node.compute_id)
    seconds = expected_seconds(missing, near.bytes_per_second if near else None)
    about = f", about {format_seconds(seconds)} at the measured bandwidth" if seconds is not None else ""
    return f"Placed on {node.written}: {format_bytes(missing)} of its data must be fetched{about}."


def _missing_bytes(job: QueuedJob, node: NodeView, snapshot: Snapshot) -> int:
    near = snapshot.near.get(node.compute_id)
    cached = near.cached if near else frozenset()
    return sum(need.bytes for need in job.needs if need.commit_id not in cached)


def _emptied(node: NodeView) -> NodeView:
    return replace(node, held=())
