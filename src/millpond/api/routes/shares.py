"""How projects share GPUs: now, and over time."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn
from millpond.db.gpu_shares import ShareSample
from millpond.services.jobs import shares
from millpond.services.jobs.shares import PoolShare
from millpond.wire import shares as wire
from millpond.wire.base import Time

router = APIRouter(prefix="/shares", tags=["shares"])

_AMOUNTS = ("quota", "share", "allocated", "pending_gpus")


@router.get("")
def list_shares(actor: SignedIn, deps: DepsOf) -> wire.ShareList:
    """Quota, share, allocated and pending GPUs of the projects one may see, by pool."""
    return wire.ShareList(items=[_share(one) for one in shares.list_shares(deps, actor)])


@router.get("/history")
def get_share_history(
    actor: SignedIn,
    deps: DepsOf,
    since: Annotated[Time | None, Query(alias="from", description="Default: 24 hours before `to`.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Default: now.")] = None,
) -> wire.ShareHistory:
    """By the minute within the last day, otherwise by the hour, for 90 days."""
    end = until or deps.clock.now()
    step, found = shares.history(deps, actor, since=since or end - timedelta(days=1), until=end)
    return wire.ShareHistory(step_seconds=step, items=[_sample(one) for one in found])


def _share(one: PoolShare) -> wire.Share:
    limit = one.project.shares.limit
    return wire.Share(
        project=one.project.name,
        pool=one.pool,
        quota=one.quota / 100,
        weight=one.weight / 100,
        limit=None if limit is None else limit / 100,
        share=one.share / 100,
        allocated=one.allocated / 100,
        over_quota=one.over_quota / 100,
        idle=one.idle / 100,
        pending_gpus=one.pending_gpus / 100,
        pending_jobs=one.pending_jobs,
    )


def _sample(one: ShareSample) -> wire.ShareSample:
    return wire.ShareSample(**asdict(one) | {name: getattr(one, name) / 100 for name in _AMOUNTS})
