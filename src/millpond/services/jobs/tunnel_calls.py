"""Streams whose agent is connected to another server: announced through the shared database."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection

from millpond.db import tunnels
from millpond.model.agent import Agent
from millpond.services.deps import Deps
from millpond.services.jobs.tunnels import COME_SECONDS, Tunnel
from millpond.wire.desired import DesiredTunnel


def call(deps: Deps, tunnel: Tunnel) -> None:
    """Ask the agent to connect, whichever server it talks to. No effect with a single server."""
    deps.events.wake("agents")
    server = deps.settings.advertised_url
    if server is None:
        return
    now = deps.clock.now()
    with deps.db.write() as tx:
        tunnels.delete_expired(tx, now)
        tunnels.insert(
            tx, tunnel.wanted.id, agent_id=tunnel.agent_id, server=server,
            wanted=tunnel.wanted.model_dump(mode="json"), expires_at=now + timedelta(seconds=COME_SECONDS),
        )  # fmt: skip


def waiting_for(deps: Deps, tx: Connection, agent: Agent) -> list[DesiredTunnel]:
    """Streams that this server waits for, and those of other servers with their addresses."""
    own = deps.tunnels.waiting_for(agent.id)
    server = deps.settings.advertised_url
    if server is None:
        return own
    others = tunnels.of_agent(tx, agent.id, besides=server, now=deps.clock.now())
    return own + [DesiredTunnel.model_validate({**wanted, "server": at}) for at, wanted in others]
