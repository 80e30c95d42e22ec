"""What keeps one job from each node, in words: made only when somebody asks about that job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millpond.decide.capability import why_unable
from millpond.decide.computes import NodeView, QueuedJob
from millpond.decide.places import Zone, why_zone_unable
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import MAX_JOBS_PER_NODE, Size
from millpond.model.quantity import format_bytes, format_count, format_gpus

MAX_REASONS = 5


def obstacles(
    job: QueuedJob,
    nodes: Iterable[NodeView],
    zones: Mapping[str, Zone],
    rooms: Mapping[str, Room],
    *,
    lacking: Iterable[tuple[str, str]] = (),
) -> tuple[str, ...]:
    """One sentence for each node that cannot run it now, at most `MAX_REASONS`. `zones` by compute id, `rooms` by node
    as it is written; `lacking`: labels its project's affinity asks for."""
    known = sorted(nodes, key=lambda node: (node.compute, node.name))
    if not known:
        return ("No compute has connected yet.",)
    found = (_obstacle(job, node, zones[node.compute_id], rooms.get(node.written), lacking) for node in known)
    reasons = list(dict.fromkeys(reason for reason in found if reason))
    more = len(reasons) - MAX_REASONS
    rest = (f"{format_count(more, 'other node')} cannot run it either.",) if more > 0 else ()
    return tuple(reasons[:MAX_REASONS]) + rest


def _obstacle(
    job: QueuedJob, node: NodeView, zone: Zone, room: Room | None, lacking: Iterable[tuple[str, str]]
) -> str | None:  # fmt: skip
    if not node.answers_to(job.spec.compute):
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
    missing = [f"{key}={value}" for key, value in lacking if node.labels.get(key) != value]
    if missing:
        return f"{node.written} does not have the label {missing[0]}, which the project asks for."
    unable = why_zone_unable(job, zone) or why_unable(job, node)
    return unable or (lacks(node, room, job) if room is not None else None)


def lacks(node: NodeView, room: Room, job: QueuedJob) -> str | None:
    """What is not free now for one process of it, in words; None if it fits."""
    spec, where = job.spec, node.written
    size = Size(spec.gpu_hundredths, spec.cpu, spec.memory_bytes)
    if room.fits(size):
        return _too_few_processes(node, room, job)
    if room.used >= MAX_JOBS_PER_NODE:
        return f"{where} already runs {format_count(room.used, 'job')}, the maximum per node."
    if not room.fits(Size(spec.gpu_hundredths)):
        asked, free = format_gpus(spec.gpu_hundredths), format_gpus(sum(room.free))
        return f"{where} has {free} of {format_count(node.gpus, 'GPU')} free; {asked} requested."
    if spec.cpu > room.cpu:
        return f"{where} has {max(0, room.cpu)} of {format_count(node.cpus, 'CPU')} free; {spec.cpu} requested."
    free, total = format_bytes(max(0, room.memory)), format_bytes(node.memory_bytes)
    return f"{where} has {free} of {total} memory free; {format_bytes(spec.memory_bytes)} requested."


def _too_few_processes(node: NodeView, room: Room, job: QueuedJob) -> str | None:
    spec = job.spec
    size = Size(spec.gpu_hundredths, spec.cpu, spec.memory_bytes)
    count = room.count(size, spec.processes) if spec.processes else 1
    if count >= spec.processes:
        return None
    return f"{node.written} has room for {count} of {spec.processes} processes now; all start together or none."
