"""Logs as byte streams addressed by offset, one for each attempt to run a job: written at their end, read anywhere.

The bytes at an offset are the same however often they are sent, so writing twice, or two servers, harm nothing. What
has come lies in a tail of this server (log_tails.py) until it fills a chunk in the store (log_chunks.py). An agent
that meets another server is told how far the chunks reach and goes on from there. docs/design/009-logs.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from millpond.db import jobs, logs, placements
from millpond.errors import BadRequest, NotFound, StalePlacement
from millpond.model.job import Job, Placement
from millpond.model.log import LeftOut, LogName
from millpond.model.people import Actor
from millpond.model.quantity import format_bytes
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.runs import log_chunks, log_tails
from millpond.services.runs.log_chunks import Log, LogView

MAX_READ = 8 << 20
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Reached:
    """How far this server has a log, and how far every server has it, whatever happens to this one."""

    offset: int
    durable: int


@dataclass(frozen=True, slots=True)
class LogPart:
    data: bytes
    # Of its first byte, and of the one that comes next.
    begin: int
    offset: int
    size: int
    attempt: int
    is_complete: bool
    # `data` is not of the job: it says that these bytes are not held.
    left_out: LeftOut | None = None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class LogAttempt:
    """The log of one attempt as it is now."""

    number: int
    node: str
    created_at: datetime
    ended_at: datetime | None
    size: int
    lines: int
    stored_bytes: int
    left_out: Sequence[LeftOut]
    rank: int = 0


def append(
    deps: Deps,
    actor: Actor,
    placement_id: str,
    offset: int,
    data: bytes,
    *,
    rank: int = 0,
    left_out_from: int | None = None,
    durable: bool = False,
) -> Reached:
    """How far the log is now. What it has already is left out; bytes beyond its end are not taken.

    They are where `left_out_from` says that nobody has the bytes between there and `offset` any more. With `durable`
    everything is in the store when this returns. StalePlacement once the placement is over.
    """
    if offset < 0:
        raise BadRequest("The offset of a log must be 0 or more.")
    placement, job = own_placement(deps, actor, placement_id)
    if rank not in range(max(1, job.spec.ranks)):
        raise _no_rank(job, rank)
    log = Log(job, LogName(placement.id, rank))
    with log_tails.turn(deps, log.name):
        before = _end(deps, log)
        reached = _take(deps, log, before, offset, data, left_out_from)
        if durable or reached.offset - reached.durable >= log_chunks.chunk_bytes(deps):
            log_chunks.cut(deps, log, everything=durable)
            reached = _end(deps, log)
    if reached.offset > before.offset:
        _tell(deps, job, rank, reached.offset)
    return reached


def own_placement(deps: Deps, actor: Actor, placement_id: str) -> tuple[Placement, Job]:
    """A placement of the asking agent that is not over."""
    with deps.db.read() as tx:
        placement = placements.get(tx, placement_id)
        if placement is None or placement.agent_id != actor.agent_id:
            raise access.not_found("placement", placement_id)
        job = jobs.get(tx, placement.job_id)
    if job is None or placement.ended_at is not None:
        raise StalePlacement(f"Placement {placement_id} has ended.")
    return placement, job


def read(deps: Deps, job: Job, offset: int, limit: int, attempt: int | None = None, rank: int | None = None) -> LogPart:
    """Bytes of the newest attempt's log, or of the one asked for, from `offset`; a negative one counts from the end.

    Where no `rank` of a distributed job is asked for, the one that failed comes first (see `chosen_rank`).
    Where bytes were left out, a line that says so stands for all of them.
    """
    placement = find_attempt(deps, job, attempt)
    if placement is None:
        return LogPart(b"", 0, 0, 0, 0, job.status.state.is_finished, rank=chosen_rank(job, None, rank))
    # Both were read before the log is: once they have ended, nothing is added behind the size read afterwards.
    has_ended = job.status.state.is_finished or (attempt is not None and placement.ended_at is not None)
    log = Log(job, LogName(placement.id, chosen_rank(job, placement, rank)))
    part = _settled_part(deps, log, offset, min(limit, MAX_READ))
    is_complete = has_ended and part.offset >= part.size
    return replace(part, attempt=placement.number, is_complete=is_complete, rank=log.name.rank)


def chosen_rank(job: Job, placement: Placement | None, rank: int | None) -> int:
    """The one asked for; otherwise, of a distributed job, the one whose failure ended the attempt, or the first."""
    if rank is not None and rank not in range(max(1, job.spec.ranks)):
        raise _no_rank(job, rank)
    if rank is not None:
        return rank
    is_newest = placement is not None and placement.number == job.status.attempt
    return job.status.failed_rank if is_newest and job.status.failed_rank is not None else 0


def whole(deps: Deps, job: Job, attempt: int | None = None, rank: int | None = None) -> Iterator[bytes]:
    """Everything the log holds now, piece by piece."""
    part = read(deps, job, 0, MAX_READ, attempt, rank)
    end = part.size
    while part.data:
        yield part.data
        if part.offset >= end:
            return
        part = read(deps, job, part.offset, MAX_READ, part.attempt, part.rank)


def attempts(deps: Deps, job: Job) -> list[LogAttempt]:
    """One for each time the job was placed, the oldest first; of a distributed job, one for each process."""
    with deps.db.read() as tx:
        found = placements.of_job(tx, job.id)
        stored = logs.stored_bytes(tx, [placement.id for placement in found])
    return [
        _attempt(deps, Log(job, name), placement, stored.get(name, 0))
        for placement in found
        for name in names_of(job, placement.id)
    ]


def names_of(job: Job, placement_id: str) -> list[LogName]:
    """The logs of one attempt."""
    return [LogName(placement_id, rank) for rank in range(max(1, job.spec.ranks))]


def find_attempt(deps: Deps, job: Job, number: int | None) -> Placement | None:
    """The newest, or the one of this number. None for a job that was never placed."""
    with deps.db.read() as tx:
        if number is None:
            return placements.newest_of_job(tx, job.id)
        found = [placement for placement in placements.of_job(tx, job.id) if placement.number == number]
    if not found:
        raise NotFound(f"Job {job.name!r} has no attempt {number}.", noun="attempt", name=str(number))
    return found[0]


def make_durable(deps: Deps, job: Job, placement_id: str) -> None:
    """Before an attempt counts as ended, all that came of its log is in the store."""
    if not log_tails.folder(deps, job.id).is_dir():
        return
    for name in names_of(job, placement_id):
        with log_tails.turn(deps, name):
            log_chunks.cut(deps, Log(job, name), everything=True)


def share_tails(deps: Deps) -> None:
    """Bring what has come to where other servers find it, too."""
    with deps.db.read() as tx:
        living = placements.living(tx)
        known = jobs.by_ids(tx, [placement.job_id for placement in living])
    for placement in living:
        job = known.get(placement.job_id)
        if job is not None:
            _share_tail(deps, job, placement.id)


def _share_tail(deps: Deps, job: Job, placement_id: str) -> None:
    """What was told when it came could be read at this server alone: readers of others are told now."""
    logs_here = [Log(job, name) for name in names_of(job, placement_id)]
    before = [_end(deps, log) for log in logs_here] if log_tails.folder(deps, job.id).is_dir() else []
    make_durable(deps, job, placement_id)
    for log, reached in zip(logs_here, before, strict=False):
        if reached.durable < reached.offset:
            _tell(deps, job, log.name.rank, reached.offset)


def remove(deps: Deps, job: Job) -> None:
    """All logs of a job. Removing what is not there is success."""
    with deps.db.read() as tx:
        found = placements.of_job(tx, job.id)
    for placement in found:
        log_chunks.remove(deps, job, placement.id)
        with deps.db.write() as tx:
            logs.remove_all(tx, placement.id)
    log_tails.remove(deps, job.id)


def _take(deps: Deps, log: Log, reached: Reached, offset: int, data: bytes, left_out_from: int | None) -> Reached:
    """Write what is new of `data` into the tail."""
    if offset > reached.offset:
        if left_out_from is None or left_out_from > reached.offset:
            return reached
        log_chunks.cut(deps, log, everything=True)
        log_tails.start(deps, log.job.id, log.name, offset, data)
        return Reached(offset + len(data), reached.offset)
    new = data[reached.offset - offset :]
    if new:
        _continue(deps, log, reached.offset, new)
    return Reached(reached.offset + len(new), reached.durable)


def _continue(deps: Deps, log: Log, offset: int, data: bytes) -> None:
    with log_tails.opened(deps, log.job.id, log.name) as tail:
        if tail is not None and tail.end == offset:
            tail.write(offset, data)
            return
    log_tails.start(deps, log.job.id, log.name, offset, data)


def _end(deps: Deps, log: Log) -> Reached:
    with log_chunks.viewed(deps, log, limit=0) as view:
        return Reached(view.end, view.newest.end if view.newest else 0)


def _settled_part(deps: Deps, log: Log, offset: int, limit: int) -> LogPart:
    """A chunk may be replaced by a longer one between finding and reading it: then it is looked for again."""
    for _ in range(_TRIES):
        with suppress(NotFound):
            return _part(deps, log, offset, limit)
    return _part(deps, log, offset, limit)


def _part(deps: Deps, log: Log, offset: int, limit: int) -> LogPart:
    """What `read` gives, without what is known of the attempt."""
    with log_chunks.viewed(deps, log, limit=0) as view:
        size = view.end
    begin = max(0, size + offset) if offset < 0 else min(offset, size)
    with log_chunks.viewed(deps, log, begin, limit=2 + limit // log_chunks.chunk_bytes(deps)) as view:
        next_begin = view.chunks[0].begin if view.chunks else view.tail_begin
        if begin < min(next_begin, view.end):
            gap = LeftOut(_held_before(deps, log, begin), next_begin)
            return LogPart(_said(gap), begin, next_begin, view.end, 0, False, gap)
        data = _contiguous(deps, log, view, begin, limit)
    return LogPart(data, begin, begin + len(data), view.end, 0, False)


def _contiguous(deps: Deps, log: Log, view: LogView, begin: int, limit: int) -> bytes:
    parts: list[bytes] = []
    reached, end = begin, begin + limit
    for chunk in view.chunks:
        if chunk.begin > reached or reached >= end:
            return b"".join(parts)
        parts.append(log_chunks.load(deps, log, chunk)[reached - chunk.begin : end - chunk.begin])
        reached += len(parts[-1])
    if view.tail is not None and view.tail_begin <= reached < end:
        parts.append(view.tail.read(reached, end))
    return b"".join(parts)


def _held_before(deps: Deps, log: Log, offset: int) -> int:
    with deps.db.read() as tx:
        chunk = logs.before(tx, log.name, offset + 1)
    return chunk.end if chunk else 0


def _said(gap: LeftOut) -> bytes:
    size = format_bytes(gap.end - gap.begin)
    return f"\n[millpond: {size} left out here, bytes {gap.begin} to {gap.end}]\n".encode()


def _attempt(deps: Deps, log: Log, placement: Placement, stored: int) -> LogAttempt:
    with log_chunks.viewed(deps, log) as view:
        return LogAttempt(
            number=placement.number,
            node=placement.node,
            created_at=placement.created_at,
            ended_at=placement.ended_at,
            size=view.end,
            lines=(view.newest.lines_reached if view.newest else 0) + _tail_lines(view),
            stored_bytes=stored + view.end - view.tail_begin,
            left_out=log_chunks.left_out(view.chunks, view.tail_begin),
            rank=log.name.rank,
        )


def _tail_lines(view: LogView) -> int:
    if view.tail is None:
        return 0
    begins = range(view.tail_begin, view.end, log_chunks.CHUNK_BYTES)
    return sum(view.tail.read(begin, begin + log_chunks.CHUNK_BYTES).count(b"\n") for begin in begins)


def _no_rank(job: Job, rank: int) -> NotFound:
    one = (
        "has one log, in which each line says its rank" if job.spec.processes else "is not distributed and has one log"
    )
    has = f"has ranks 0 to {job.spec.ranks - 1}" if job.spec.ranks else one
    return NotFound(f"Job {job.name!r} has no rank {rank}: it {has}.", noun="rank", name=str(rank))


def _tell(deps: Deps, job: Job, rank: int, size: int) -> None:
    """Agents send what has gathered a few times a second, however fast a log grows; so this is not often either."""
    data = {"project": job.project, "id": job.id, "what": "grown", "rank": rank, "size": size}
    deps.events.publish(f"log:{job.id}", project_id=job.project_id, data=data)
