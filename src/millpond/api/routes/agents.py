"""The one conversation with agents: a long poll in which each side tells everything."""

from __future__ import annotations

import time

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from millpond.api.access import PUBLIC, AgentOnly, DepsOf, HubOf
from millpond.services.computes import agents, compute_tests, joining, presence
from millpond.services.computes.agent_topics import AGENTS, agents_of
from millpond.services.endpoints import request_logs
from millpond.services.lake import stores
from millpond.wire.agent import PROTOCOL_HEADER, StoreProbe, StoreProbes, TrialUrls
from millpond.wire.computes import Checks, Join, Joined
from millpond.wire.desired import Desired
from millpond.wire.observed import Observed

router = APIRouter(prefix="/agents", tags=["agents"])

# What is wanted may change with time alone, and a wake of another server may be lost.
_LOOK_AGAIN_SECONDS = 2.0
# Of hundreds of agents that wait, all together look again at most so often.
_LOOKS_PER_SECOND = 5.0
# How often a waiting agent is noted as connected. Those that ask as often as they are to (20 s) are not: they say
# themselves that they are there, and hundreds of them would be most of what an idle server writes.
_NOTE_SECONDS = 21.0


async def _check_protocol(request: Request) -> None:
    """Before the body is looked at: one of another version may have a shape that means nothing here."""
    spoken = request.headers.get(PROTOCOL_HEADER, "")
    if spoken.isdigit():
        joining.check_protocol(int(spoken))


@router.post("/join", dependencies=[PUBLIC, Depends(_check_protocol)])
def join_agent(body: Join, deps: DepsOf) -> Joined:
    """Exchange a join token: from now on the agent speaks with the credential whose hash it tells."""
    agent = joining.join(deps, body)
    return Joined(agent_id=agent.id, name=agent.compute, site=agent.site)


@router.post("/tests/{test}/urls")
def get_trial_urls(test: str, actor: AgentOnly, deps: DepsOf) -> TrialUrls:
    """What an agent needs to try out the lake."""
    return compute_tests.urls(deps, actor, test)


@router.post("/tests/{test}", status_code=204)
def finish_compute_test(test: str, body: Checks, actor: AgentOnly, deps: DepsOf) -> None:
    compute_tests.finish(deps, actor, test, body.checks)


@router.post("/request-logs/{endpoint}", status_code=204)
async def add_request_log(endpoint: str, request: Request, actor: AgentOnly, deps: DepsOf) -> None:
    """A file of an endpoint's request log, by its id, as JSON lines. Sent twice it is kept once."""
    content = await request.body()
    await run_in_threadpool(request_logs.receive, deps, actor, endpoint, content)


@router.get("/stores")
def get_store_probes(actor: AgentOnly, deps: DepsOf) -> StoreProbes:
    """What an agent reads to try the stores of its site."""
    found = [StoreProbe.model_validate(probe) for probe in stores.probes(deps, actor)]
    return StoreProbes(lake=stores.lake_id(deps), items=found)


@router.post("/sync", dependencies=[Depends(_check_protocol)], response_model=Desired)
async def sync_agent(body: Observed, actor: AgentOnly, request: Request, deps: DepsOf, hub: HubOf) -> Response:
    """Answered at once when something else is wanted than the agent knows, otherwise after `wait_seconds`."""
    agent = await run_in_threadpool(agents.observe, deps, actor, body)
    # Whoever waited longer would count as away.
    ends = time.monotonic() + min(body.wait_seconds, presence.CONNECTED.total_seconds() / 2)
    noted = time.monotonic()
    topics = (AGENTS, agents_of(agent.compute))
    while True:
        mark = hub.mark(*topics)
        desired = await run_in_threadpool(agents.desired, deps, agent, body)
        left = ends - time.monotonic()
        if desired.revision != body.seen_revision or left <= 0 or hub.is_closed:
            return _written(desired)
        look_again = max(_LOOK_AGAIN_SECONDS, hub.waiting(AGENTS) / _LOOKS_PER_SECOND)
        await hub.wait(*topics, since=mark, timeout=min(left, look_again))
        if await request.is_disconnected():
            return _written(desired)  # an agent that has news breaks off and asks anew: nobody hears this answer
        if time.monotonic() - noted >= _NOTE_SECONDS:
            await run_in_threadpool(agents.still_there, deps, agent, body.instance)
            noted = time.monotonic()


def _written(desired: Desired) -> Response:
    """As it is: FastAPI would make values of it first, and of hundreds of placements that takes longest."""
    return Response(desired.model_dump_json(), media_type="application/json")
