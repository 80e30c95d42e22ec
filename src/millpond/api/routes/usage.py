"""How full volumes were, how their caches were used, and what is on its way now."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn
from millpond.api.shapes import places as shapes
from millpond.services.places import volume_usage
from millpond.wire.base import Time
from millpond.wire.topology import CachesSummary, VolumeUsage

router = APIRouter(tags=["usage"])


@router.get("/volumes/{volume}/usage")
def get_volume_usage(
    volume: str,
    actor: SignedIn,
    deps: DepsOf,
    since: Annotated[Time | None, Query(alias="from", description="Default: 24 hours before `to`.")] = None,
    until: Annotated[Time | None, Query(alias="to", description="Default: now.")] = None,
) -> VolumeUsage:
    """By the minute within the last day, otherwise by the hour, for 90 days."""
    return shapes.usage(volume_usage.usage(deps, actor, volume, since, until))


@router.get("/caches/summary")
def get_caches_summary(actor: SignedIn, deps: DepsOf) -> CachesSummary:
    return shapes.summary(volume_usage.summary(deps, actor))
