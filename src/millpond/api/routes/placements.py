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
    rank: Annotated[int, Query(ge=0, description="Rank of a distributed job.")] = 0,
    left_out_from: Annotated[int | None, Query(ge=0, description="The bytes from here to `offset` are lost.")] = None,
    durable: Annotated[bool, Query(description="Answer only when the bytes are durable.")] = False,
) -> LogAnswer:
    """Bytes that begin at `offset`; the answer says how far the server is, and the agent goes on from there."""
    content = await request.body()
    append = partial(logs.append, rank=rank, left_out_from=left_out_from, durable=durable)
    reached = await run_in_threadpool(append, deps, actor, placement, offset, content)
    return LogAnswer(offset=reached.offset, durable=reached.durable)


@router.post("/usage", status_code=204)
def add_usage(placement: str, body: UsageBatch, actor: AgentOnly, deps: DepsOf) -> None:
    series.add_usage(deps, actor, placement, body)
