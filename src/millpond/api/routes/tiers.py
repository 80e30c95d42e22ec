"""Tiers: classes of service of volumes."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.shapes import places as shapes
from millpond.services.places import tiers
from millpond.wire import cache as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/tiers", tags=["volumes"])


@router.get("")
def list_tiers(actor: SignedIn, deps: DepsOf) -> Page[wire.Tier]:
    return Page(items=[shapes.tier(one) for one in tiers.list_all(deps)])


@router.put("/{tier}")
def put_tier(tier: str, body: wire.TierPut, actor: SiteAdmin, deps: DepsOf) -> wire.Tier:
    """Add a tier or change it. Its volumes follow within seconds, and no data is moved."""
    return shapes.tier(tiers.put(deps, actor, tier, **body.model_dump(exclude_unset=True)))


@router.delete("/{tier}", status_code=204)
def remove_tier(tier: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while volumes have it. The standard, premium and ultra tier are as they were in the beginning."""
    tiers.remove(deps, actor, tier)
