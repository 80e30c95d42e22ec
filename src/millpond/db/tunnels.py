"""Streams to jobs that a server waits for, told to the other servers of its database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from millpond.db.tables import tunnel


def insert(
    tx: Connection, tunnel_id: str, *, agent_id: str, server: str, wanted: dict[str, Any], expires_at: datetime
) -> None:
    row = {"id": tunnel_id, "agent_id": agent_id, "server": server, "wanted": wanted, "expires_at": expires_at}
    tx.execute(tunnel.insert().values(**row))


def delete_expired(tx: Connection, now: datetime) -> None:
    tx.execute(tunnel.delete().where(tunnel.c.expires_at <= now))


def of_agent(tx: Connection, agent_id: str, *, besides: str, now: datetime) -> Sequence[dict[str, Any]]:
    """What is wanted of it; nothing that the server `besides` waits for itself."""
    query = select(tunnel.c.wanted).where(
        tunnel.c.agent_id == agent_id, tunnel.c.server != besides, tunnel.c.expires_at > now
    )
    return tx.scalars(query.order_by(tunnel.c.id)).all()


def server_of(tx: Connection, tunnel_id: str, *, agent_id: str, now: datetime) -> str | None:
    """Where this agent is waited for."""
    query = select(tunnel.c.server).where(
        tunnel.c.id == tunnel_id, tunnel.c.agent_id == agent_id, tunnel.c.expires_at > now
    )
    return tx.scalar(query)
