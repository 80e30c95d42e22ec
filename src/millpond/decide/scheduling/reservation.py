"""Reservations: nodes that are kept for a large job, so that small ones do not push it aside for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.decide.scheduling.fleet import Fleet, Shape
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Reservation, Running, Size


def needs_reservation(gpus: int) -> bool:
    """One GPU or a part of one becomes free by itself; several at once may never."""
    return gpus > WHOLE


def make(
    fleet: Fleet, wanted: Pending, shape: Shape, running: Mapping[str, Running], now: float, *, claim: bool
) -> Reservation | None:
    """The nodes that are likely to be free first; None where it could not run even on empty ones."""
    size = shape.size
    found: list[tuple[tuple[bool, float, int, str], Reservation]] = []
    for compute, rooms in fleet.computes(shape.zones):
        able = [
            room
            for room in rooms
            if shape.requires <= room.node.offers and room.fits_empty(size) and room.reservation is None
        ]
        chosen = _soonest(able, size, running, now)
        if not chosen:
            continue
        starts = [start for _, start in chosen]
        expected = None if None in starts else max((start for start in starts if start is not None), default=now)
        busy = sum(sum(WHOLE - left for left in room.free) for room, _ in chosen)
        key = (expected is None, expected or 0.0, busy, compute)
        found.append((key, Reservation(wanted.job.id, tuple(room.node.id for room, _ in chosen), claim, expected)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _soonest(
    rooms: Sequence[Room], size: Size, running: Mapping[str, Running], now: float
) -> list[tuple[Room, float | None]]:
    each = size._replace(processes=0)
    starts = [(room, expected_start(room, each, running, now)) for room in rooms]
    starts.sort(key=lambda one: (one[1] is None, one[1] or 0.0, -sum(one[0].free), one[0].order))
    if not size.processes:
        return starts[:1]
    chosen: list[tuple[Room, float | None]] = []
    left = size.processes
    for room, start in starts:
        if left > 0:
            chosen.append((room, start))
            left -= Room(room.node, room.order).count(size, size.processes)
    return chosen if left <= 0 else []


def expected_start(room: Room, size: Size, running: Mapping[str, Running], now: float) -> float | None:
    """When a process of the job fits there at the latest, by the time limits of what runs; None where one has none."""
    if size not in room.ends:
        room.ends[size] = _latest_end(room, size, running)
    end = room.ends[size]
    return None if end is None else max(now, end)


def _latest_end(room: Room, size: Size, running: Mapping[str, Running]) -> float | None:
    if room.fits(size):
        return 0.0
    left = room.freed_by(())
    ends = [(end, job_id) for job_id in room.holds if (end := _ends(running.get(job_id))) is not None]
    for end, job_id in sorted(ends):
        left.release(job_id)
        if left.fits(size):
            return end
    return None


def _ends(running: Running | None) -> float | None:
    return None if running is None or running.nominated else running.ends
