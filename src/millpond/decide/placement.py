"""Which queued job starts where, and why the others wait: a pure function of one snapshot of the computes.

First come, first served within a priority, with backfill: jobs are tried in the order they are given, and one that
does not fit now does not hold up a later one that does. Nothing is kept free for a large job while it waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from millpond.decide.bandwidth import expected_seconds
from millpond.decide.capability import why_unable
from millpond.decide.computes import WHOLE, Held, NearView, Need, NodeView, QueuedJob, Snapshot
from millpond.model.job import Resources
from millpond.model.quantity import format_bytes, format_gpus, format_seconds

__all__ = [
    "Held", "NearView", "Need", "NodeView", "Plan", "QueuedJob", "Snapshot", "Start",
    "likely_node", "plan_starts", "still_fits",
]  # fmt: skip

# Jobs that reserve nothing still cost processes: the one limit on how many of them a node gets.
MAX_JOBS_PER_NODE = 256
MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class Start:
    job_id: str
    agent_id: str
    node: str
    gpu_indices: tuple[int, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    starts: tuple[Start, ...]
    waits: Mapping[str, tuple[str, ...]]


def plan_starts(snapshot: Snapshot) -> Plan:
    """Every job either starts or waits with its reasons. Equal snapshots give equal plans, in any process."""
    nodes = sorted(snapshot.nodes, key=lambda node: (node.agent, node.name))
    rooms = [_Room(node) for node in nodes]
    starts: list[Start] = []
    waits: dict[str, tuple[str, ...]] = {}
    for job in snapshot.jobs:
        room = _choose(job, rooms, snapshot)
        if room is None:
            waits[job.id] = _why_not(job, rooms, snapshot)
            continue
        indices = room.take(job.resources)
        reasons = (_why_here(job, room.node, snapshot),)
        starts.append(Start(job.id, room.node.agent_id, room.node.name, indices, reasons))
    return Plan(tuple(starts), waits)


def likely_node(job: QueuedJob, snapshot: Snapshot) -> NodeView | None:
    """Where a job would run if nothing else did: the place to bring its data while it waits."""
    rooms = [_Room(_emptied(node)) for node in sorted(snapshot.nodes, key=lambda node: (node.agent, node.name))]
    room = _choose(job, rooms, snapshot)
    return room.node if room else None


def still_fits(node: NodeView, resources: Resources, gpu_indices: tuple[int, ...]) -> bool:
    """Whether what a plan promised on this node is still free there."""
    room = _Room(node)
    if node.cordoned_by is not None or room.lacks(resources):
        return False
    whole = resources.gpu_hundredths // WHOLE
    asked = [WHOLE if number < whole else resources.gpu_hundredths % WHOLE for number in range(len(gpu_indices))]
    return all(
        index < len(room.gpus) and room.gpus[index] >= share for index, share in zip(gpu_indices, asked, strict=True)
    )


@dataclass(slots=True)
class _Room:
    """What is still free on a node while a plan is made."""

    node: NodeView
    cpu: int = 0
    memory_bytes: int = 0
    jobs: int = 0
    gpus: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cpu, self.memory_bytes = self.node.cpus, self.node.memory_bytes
        self.gpus = [WHOLE] * self.node.gpus
        for held in self.node.held:
            self._hold(held.resources, held.gpu_indices)

    def take(self, resources: Resources) -> tuple[int, ...]:
        indices = self.pick_gpus(resources.gpu_hundredths)
        assert indices is not None, "a job is placed only where it fits"
        self._hold(resources, indices)
        return indices

    def pick_gpus(self, hundredths: int) -> tuple[int, ...] | None:
        """Whole GPUs first, the lowest numbers; a fraction goes where it leaves the least behind."""
        whole, part = divmod(hundredths, WHOLE)
        free = [index for index, left in enumerate(self.gpus) if left == WHOLE]
        if len(free) < whole:
            return None
        chosen = free[:whole]
        if not part:
            return tuple(chosen)
        partly = [(left, index) for index, left in enumerate(self.gpus) if left >= part and index not in chosen]
        return (*chosen, min(partly)[1]) if partly else None

    def lacks(self, resources: Resources) -> str | None:
        """What is missing now, in words; None if the job fits."""
        where = self.node.written
        if self.jobs >= MAX_JOBS_PER_NODE:
            return f"{where} runs {self.jobs} jobs, the most a node is given."
        if resources.gpu_hundredths and self.pick_gpus(resources.gpu_hundredths) is None:
            asked, free = format_gpus(resources.gpu_hundredths), format_gpus(sum(self.gpus))
            return f"{where} has {free} of {self.node.gpus} GPUs free, {asked} asked."
        if resources.cpu > self.cpu:
            return f"{where} has {max(0, self.cpu)} of {self.node.cpus} CPUs free, {resources.cpu} asked."
        if resources.memory_bytes > self.memory_bytes:
            free, total = format_bytes(max(0, self.memory_bytes)), format_bytes(self.node.memory_bytes)
            return f"{where} has {free} of {total} memory free, {format_bytes(resources.memory_bytes)} asked."
        return None

    def _hold(self, resources: Resources, indices: tuple[int, ...]) -> None:
        self.jobs += 1
        self.cpu -= resources.cpu
        self.memory_bytes -= resources.memory_bytes
        left = resources.gpu_hundredths
        for index in indices:
            share = min(left, WHOLE)
            left -= share
            if index < len(self.gpus):  # a node may have come back with fewer GPUs than it had
                self.gpus[index] = max(0, self.gpus[index] - share)


def _choose(job: QueuedJob, rooms: Sequence[_Room], snapshot: Snapshot) -> _Room | None:
    """The fitting node with the least data to bring, then the one that keeps the most GPUs together elsewhere."""
    fitting = [room for room in rooms if _obstacle(job, room, snapshot) is None]
    return min(fitting, key=lambda room: _rank(job, room, snapshot), default=None)


def _rank(job: QueuedJob, room: _Room, snapshot: Snapshot) -> tuple[int, int, int, str, str]:
    missing = _missing_bytes(job, room.node, snapshot)
    return (missing, sum(room.gpus), room.jobs, room.node.agent, room.node.name)


def _obstacle(job: QueuedJob, room: _Room, snapshot: Snapshot) -> str | None:
    """The first rule that keeps a job from this node, in words; None if it may start there now."""
    node = room.node
    if job.compute is not None and node.agent != job.compute:
        return f"It is to run on {job.compute} and nowhere else."
    if not node.connected:
        return f"{node.written} is not connected."
    if node.cordoned_by is not None:
        return f"{node.agent} takes no new jobs: it was cordoned by {node.cordoned_by}."
    if not node.trust.accepts(job.project_id):
        return (
            f"{node.agent} runs all jobs under one account, and project {job.project} was not let in there; "
            f"an administrator can do so: mill compute trust {node.agent} --project {job.project}"
        )
    unable = why_unable(job, node)
    if unable:
        return unable
    near = snapshot.near.get(node.agent_id)
    if job.needs and (near is None or not near.volumes):
        return f"No working volume is near {node.agent} for the job's data; see `mill topology`."
    return snapshot.blocked.get((job.id, node.agent_id)) or room.lacks(job.resources)


def _why_not(job: QueuedJob, rooms: Sequence[_Room], snapshot: Snapshot) -> tuple[str, ...]:
    if not rooms:
        return ("No compute has connected yet.",)
    found = [_obstacle(job, room, snapshot) for room in rooms]
    reasons = list(dict.fromkeys(reason for reason in found if reason))
    more = len(reasons) - MAX_REASONS
    return tuple(reasons[:MAX_REASONS]) + ((f"{more} more nodes are no better.",) if more > 0 else ())


def _why_here(job: QueuedJob, node: NodeView, snapshot: Snapshot) -> str:
    if not job.needs:
        return f"Placed on {node.written}."
    missing = _missing_bytes(job, node, snapshot)
    if not missing:
        return f"Placed on {node.written}: its data is there or on its way."
    near = snapshot.near.get(node.agent_id)
    seconds = expected_seconds(missing, near.bytes_per_second if near else None)
    about = f", about {format_seconds(seconds)} by what was measured" if seconds is not None else ""
    return f"Placed on {node.written}: {format_bytes(missing)} of its data must be fetched{about}."


def _missing_bytes(job: QueuedJob, node: NodeView, snapshot: Snapshot) -> int:
    near = snapshot.near.get(node.agent_id)
    cached = near.cached if near else frozenset()
    return sum(need.bytes for need in job.needs if need.commit_id not in cached)


def _emptied(node: NodeView) -> NodeView:
    return replace(node, held=())
