"""Chunks of logs: where which bytes lie."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, select

from millpond.db import placements
from millpond.db.tables import log_chunk
from millpond.model.log import LeftOut, LogChunk, LogName


def newest(tx: Connection, log: LogName) -> LogChunk | None:
    """The chunk at the end."""
    query = select(log_chunk).where(_of(log))
    row = tx.execute(query.order_by(log_chunk.c.begin.desc()).limit(1)).first()
    return _chunk(row) if row else None


def before(tx: Connection, log: LogName, offset: int) -> LogChunk | None:
    """The last chunk that begins before `offset`."""
    query = select(log_chunk).where(_of(log), log_chunk.c.begin < offset)
    row = tx.execute(query.order_by(log_chunk.c.begin.desc()).limit(1)).first()
    return _chunk(row) if row else None


def reaching(tx: Connection, log: LogName, offset: int, *, limit: int | None = None) -> Sequence[LogChunk]:
    """Chunks with bytes at or behind `offset`, in order."""
    query = select(log_chunk).where(_of(log), log_chunk.c.end > offset)
    return [_chunk(row) for row in tx.execute(query.order_by(log_chunk.c.begin).limit(limit))]


def add(tx: Connection, log: LogName, chunk: LogChunk) -> bool:
    """Add it behind the others, or in the place of the last one that it continues; False where it does neither.

    The placement's row is locked: of two servers that write at once, one is first.
    """
    placements.lock(tx, log.placement_id)
    last = newest(tx, log)
    if last is not None and chunk.begin < last.end:
        if chunk.begin != last.begin or chunk.end <= last.end:
            return False
        tx.execute(log_chunk.delete().where(_of(log), log_chunk.c.begin == last.begin))
    row = {
        "placement_id": log.placement_id, "rank": log.rank, "begin": chunk.begin, "end": chunk.end,
        "lines_before": chunk.lines_before, "lines": chunk.lines, "stored_bytes": chunk.stored_bytes,
    }  # fmt: skip
    tx.execute(log_chunk.insert().values(**row))
    return True


def inside(tx: Connection, log: LogName, left_out: LeftOut) -> Sequence[LogChunk]:
    """Chunks that touch this stretch."""
    query = select(log_chunk).where(_of(log), log_chunk.c.end > left_out.begin, log_chunk.c.begin < left_out.end)
    return [_chunk(row) for row in tx.execute(query.order_by(log_chunk.c.begin))]


def remove(tx: Connection, log: LogName, chunks: Collection[LogChunk]) -> None:
    begins = [chunk.begin for chunk in chunks]
    tx.execute(log_chunk.delete().where(_of(log), log_chunk.c.begin.in_(begins)))


def remove_all(tx: Connection, placement_id: str) -> None:
    """Of all processes."""
    tx.execute(log_chunk.delete().where(log_chunk.c.placement_id == placement_id))


def stored_bytes(tx: Connection, placement_ids: Collection[str]) -> Mapping[LogName, int]:
    """What the chunks of each log of these placements take in the store."""
    by = (log_chunk.c.placement_id, log_chunk.c.rank)
    query = select(*by, func.sum(log_chunk.c.stored_bytes))
    query = query.where(log_chunk.c.placement_id.in_(sorted(placement_ids))).group_by(*by)
    return {LogName(row[0], row[1]): int(row[2]) for row in tx.execute(query)}


def _of(log: LogName) -> ColumnElement[bool]:
    return and_(log_chunk.c.placement_id == log.placement_id, log_chunk.c.rank == log.rank)


def _chunk(row: Row[Any]) -> LogChunk:
    return LogChunk(row.begin, row.end, row.lines_before, row.lines, row.stored_bytes)
