"""One-time tickets that were used at any server of the database."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db.tables import used_ticket


def use(tx: Connection, ticket_id: str, *, expires: datetime, now: datetime) -> bool:
    """Whether this is the first time. Those that have expired are forgotten."""
    tx.execute(used_ticket.delete().where(used_ticket.c.expires_at <= now))
    try:
        with tx.begin_nested():
            tx.execute(used_ticket.insert().values(id=ticket_id, expires_at=expires))
    except IntegrityError:
        return False
    return True
