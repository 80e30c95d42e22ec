"""The one conversation with agents: a long poll in which each side tells everything."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from millpond.api.access import AgentOnly, DepsOf, HubOf
from millpond.services import agents
from millpond.wire.agent import Desired, Observed

router = APIRouter(prefix="/agents", tags=["agents"])

# Another server may change what is wanted, and its wakes are not heard here.
_LOOK_AGAIN_SECONDS = 2.0
# How often a waiting agent is noted as connected.
_NOTE_SECONDS = 15.0


@router.post("/sync")
async def sync_agent(body: Observed, actor: AgentOnly, request: Request, deps: DepsOf, hub: HubOf) -> Desired:
    """Answered at once when something else is wanted than the agent knows, otherwise after `wait_seconds`."""
    agent = await run_in_threadpool(agents.observe, deps, actor, body)
    ends = time.monotonic() + body.wait_seconds
    noted = time.monotonic()
    while True:
        mark = hub.mark("agents")
        desired = await run_in_threadpool(agents.desired, deps, agent)
        left = ends - time.monotonic()
        if desired.revision != body.seen_revision or left <= 0 or hub.is_closed or await request.is_disconnected():
            return desired
        await hub.wait("agents", since=mark, timeout=min(left, _LOOK_AGAIN_SECONDS))
        if time.monotonic() - noted >= _NOTE_SECONDS and not await request.is_disconnected():
            await run_in_threadpool(agents.still_there, deps, agent, body.instance)
            noted = time.monotonic()
