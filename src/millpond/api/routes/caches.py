"""Cached commits: asked for, looked at, cleared, pinned; and what was evicted, with the reason."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from millpond.api.access import ByObject, DepsOf, HubOf, SignedIn
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.cached_state import CachedState
from millpond.model.dataset import DatasetKind
from millpond.model.people import Actor, Role
from millpond.model.volume import LeaseKind
from millpond.services.caches import holds as cache_holds
from millpond.services.caches import requests as cache_requests
from millpond.services.caches import verification
from millpond.services.caches.explain.details import CachedDetails
from millpond.services.caches.requests import CacheFilter
from millpond.wire import cache as wire
from millpond.wire.base import Page

router = APIRouter(tags=["caches"])

Looker = Annotated[Actor, ByObject(Role.VIEWER)]
User = Annotated[Actor, ByObject(Role.MEMBER)]
Wait = Annotated[float, Query(ge=0, le=20, description="Seconds to wait while it is being filled or verified.")]


@router.get("/caches")
def list_caches(
    actor: SignedIn,
    deps: DepsOf,
    volume: str | None = None,
    project: str | None = None,
    dataset: str | None = None,
    kind: Annotated[list[DatasetKind] | None, Query(description="Only of datasets of these kinds.")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.CachedCommit]:
    chosen = CacheFilter(volume=volume, project=project, dataset=dataset, kinds=kind or ())
    return page(cache_requests.list_visible(deps, actor, chosen, limit=limit, cursor=cursor), _shape)


@router.post("/caches", status_code=201)
def add_cache(body: wire.CacheAdd, actor: User, deps: DepsOf) -> wire.CacheAdded:
    """Once and only once: asking for what is there, or on its way, starts nothing."""
    return wire.CacheAdded.model_validate(cache_requests.request(deps, actor, **body.model_dump()))


@router.get("/caches/{cached}")
async def get_cache(cached: str, actor: Looker, deps: DepsOf, hub: HubOf, wait: Wait = 0.0) -> wire.CachedCommit:
    """Answered after `wait` seconds, and before that as soon as nothing of it is under way (any more)."""
    ends = time.monotonic() + wait
    while True:
        mark = hub.mark("caches")
        found = await run_in_threadpool(cache_requests.get, deps, actor, cached)
        left = ends - time.monotonic()
        if left <= 0 or hub.is_closed or not _is_under_way(found):
            return _shape(found)
        await hub.wait("caches", since=mark, timeout=left)


def _shape(found: CachedDetails) -> wire.CachedCommit:
    return wire.CachedCommit.model_validate(found)


def _is_under_way(found: CachedDetails) -> bool:
    verifying = found.verification is not None and found.verification.ended_at is None
    return found.state is CachedState.FILLING or verifying


@router.delete("/caches/{cached}", status_code=204)
def clear_cache(cached: str, actor: User, deps: DepsOf) -> None:
    """Refused while it is leased or pinned; the answer names who uses it."""
    cache_requests.clear(deps, actor, cached)


@router.post("/caches/{cached}/pin")
def pin_cache(cached: str, actor: User, deps: DepsOf) -> wire.CachedCommit:
    return _shape(cache_requests.pin(deps, actor, cached, pinned=True))


@router.delete("/caches/{cached}/pin")
def unpin_cache(cached: str, actor: User, deps: DepsOf) -> wire.CachedCommit:
    return _shape(cache_requests.pin(deps, actor, cached, pinned=False))


@router.patch("/caches/{cached}")
def change_cache(cached: str, body: wire.CacheChange, actor: User, deps: DepsOf) -> wire.CachedCommit:
    """An idle time of its own."""
    idle = None if body.idle_seconds == "default" else body.idle_seconds
    return _shape(cache_requests.change(deps, actor, cached, idle_seconds=idle))


@router.post("/caches/{cached}/hold")
def hold_cache(cached: str, body: wire.CacheHold, actor: Looker, deps: DepsOf) -> wire.CachedCommit:
    """Keep it for a time: by wish (members), or because it is read (viewers; the server says for how long)."""
    asked = body.model_dump() | {"kind": LeaseKind(body.kind)}
    return _shape(cache_holds.hold(deps, actor, cached, **asked))


@router.delete("/caches/{cached}/hold")
def release_cache(
    cached: str, actor: Looker, deps: DepsOf, reader: str | None = None, user: str | None = None
) -> wire.CachedCommit:
    """End one's own holds, or what one reader has; administrators of the project end what another `user` holds."""
    return _shape(cache_holds.release(deps, actor, cached, reader=reader, user=user))


@router.post("/caches/{cached}/verify")
def verify_cache(cached: str, actor: User, deps: DepsOf) -> wire.CachedCommit:
    """Hold every file against its digest, and fetch anew what is wrong; `verification` says how it goes."""
    return _shape(verification.verify(deps, actor, cached))


@router.get("/evictions")
def list_evictions(
    actor: SignedIn, deps: DepsOf, volume: str | None = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Eviction]:
    """Newest first; of one volume, or of all."""
    found = cache_requests.evictions(deps, actor, volume=volume, limit=limit, cursor=cursor)
    return page(found, wire.Eviction.model_validate)
