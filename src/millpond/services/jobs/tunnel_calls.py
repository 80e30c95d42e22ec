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
    """Ask the agent to connect, whichever server it talks to."""
    if deps.address is not None:
        now = deps.clock.now()
        wanted = tunnel.wanted.model_copy(update={"server": deps.settings.advertised_url})
        with deps.db.write() as tx:
            tunnels.delete_expired(tx, now)
            tunnels.insert(
                tx, tunnel.wanted.id, agent_id=tunnel.agent_id, server=deps.address,
                wanted=wanted.model_dump(mode="json"), expires_at=now + timedelta(seconds=COME_SECONDS),
            )  # fmt: skip
    deps.events.wake("agents")


def waiting_for(deps: Deps, tx: Connection, agent: Agent) -> list[DesiredTunnel]:
    """Streams that this server waits for, and those of other servers: with an address if agents are to come there."""
    own = deps.tunnels.waiting_for(agent.id)
    if deps.address is None:
        return own
    others = tunnels.of_agent(tx, agent.id, besides=deps.address, now=deps.clock.now())
    return own + [DesiredTunnel.model_validate(wanted) for wanted in others]


def server_of(deps: Deps, agent_id: str, tunnel_id: str) -> str | None:
    """The address of the other server that waits for this agent, if one does."""
    if deps.address is None:
        return None
    with deps.db.read() as tx:
        found = tunnels.server_of(tx, tunnel_id, agent_id=agent_id, now=deps.clock.now())
    return found if found != deps.address else None
