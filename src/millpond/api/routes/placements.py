"""What an agent streams of its placements: log bytes by offset, and usage."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from millpond.api.access import AgentOnly, DepsOf
from millpond.services.runs import logs, series
from millpond.wire.agent import LogAnswer, UsageBatch

router = APIRouter(prefix="/placements/{placement}", tags=["placements"])


@router.put("/log")
async def put_log(
    placement: str,
    offset: Annotated[int, Query(ge=0)],
    request: Request,
    actor: AgentOnly,
    deps: DepsOf,
    rank: Annotated[int, Query(ge=0, description="Which process of a distributed job wrote them.")] = 0,
    left_out_from: Annotated[
        int | None, Query(ge=0, description="Nobody has the bytes from here to `offset` any more.")
    ] = None,
    durable: Annotated[bool, Query(description="Answer when no crash can lose any of it.")] = False,
) -> LogAnswer:
    """Bytes that begin at `offset`; the answer says how far the server is, and the agent goes on from there."""
    content = await request.body()
    append = partial(logs.append, rank=rank, left_out_from=left_out_from, durable=durable)
    reached = await run_in_threadpool(append, deps, actor, placement, offset, content)
    return LogAnswer(offset=reached.offset, durable=reached.durable)


@router.post("/usage", status_code=204)
def add_usage(placement: str, body: UsageBatch, actor: AgentOnly, deps: DepsOf) -> None:
    series.add_usage(deps, actor, placement, body)
