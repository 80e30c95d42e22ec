"""Files of request logs: those that wait to be committed, and those that were, for a while."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import request_log
from millpond.model.request_log import StagedLog


def known(tx: Connection, endpoint_id: str, digest: str) -> bool:
    """True if this file came before, whether it is committed or not."""
    query = select(request_log.c.digest).where(request_log.c.endpoint_id == endpoint_id, request_log.c.digest == digest)
    return tx.execute(query).first() is not None


def stage(tx: Connection, log: StagedLog) -> None:
    """Once, however often it comes."""
    row = {
        "endpoint_id": log.endpoint_id,
        "digest": log.digest,
        "rows": log.rows,
        "bytes": log.bytes,
        "received_at": log.received_at,
    }
    insert_missing(tx, request_log, [row])


def waiting(tx: Connection, *, limit: int) -> Sequence[StagedLog]:
    """Those that are not committed, oldest first."""
    query = select(request_log).where(request_log.c.committed_at.is_(None))
    found = tx.execute(query.order_by(request_log.c.received_at, request_log.c.digest).limit(limit))
    return [StagedLog(row.endpoint_id, row.digest, row.rows, row.bytes, row.received_at) for row in found]


def note_committed(
    tx: Connection, endpoint_id: str, digests: Collection[str], commit_id: str | None, now: datetime
) -> None:
    """`commit_id` is None for what nobody wants any more."""
    mine = request_log.c.endpoint_id == endpoint_id, request_log.c.digest.in_(digests)
    tx.execute(request_log.update().where(*mine).values(committed_at=now, commit_id=commit_id))


def forget_committed(tx: Connection, before: datetime) -> None:
    """A file that was committed so long ago is not sent again."""
    tx.execute(request_log.delete().where(request_log.c.committed_at < before))
