"""Why a commit is cached or not, what goes next, and the branches that are kept cached."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import ByObject, DepsOf, SignedIn
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import caches as shapes
from millpond.model.people import Actor, Role
from millpond.services.caches import policies as cache_policies
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.explain import offers as cache_offers
from millpond.services.caches.explain import why as cache_why
from millpond.wire import cache_plans as wire
from millpond.wire.base import Page

router = APIRouter(tags=["caches"])

Keeper = Annotated[Actor, ByObject(Role.MEMBER)]
Looker = Annotated[Actor, ByObject(Role.VIEWER)]


@router.get("/cache-why")
def why_cached(
    actor: Looker,
    deps: DepsOf,
    dataset: Annotated[str, Query(description="In written form: dataset, project/dataset@ref.")],
    project: str | None = None,
) -> wire.CacheWhy:
    """Where a commit is cached, since when, who holds it, when it goes; or why it went or was refused."""
    return wire.CacheWhy.model_validate(cache_why.why(deps, actor, dataset, project=project))


@router.get("/cache-plan")
def plan_evictions(actor: SignedIn, deps: DepsOf, volume: str | None = None) -> Page[wire.VolumePlan]:
    """What goes next from each volume, when and why, if nobody uses anything until then. Nothing is done."""
    return Page(items=[wire.VolumePlan.model_validate(one) for one in cache_why.plan(deps, actor, volume)])


@router.get("/cache-offers")
def list_offers(
    actor: Looker,
    deps: DepsOf,
    dataset: Annotated[str, Query(description="In written form: dataset, project/dataset@ref.")],
    project: str | None = None,
    volume: str | None = None,
    near: Annotated[str | None, Query(description="A compute, or a site.")] = None,
) -> Page[wire.CacheOffer]:
    """What asking for a commit would bring on each volume: whether it fits, what would go, how long it takes."""
    found = cache_offers.offers(deps, actor, dataset, project=project, volume=volume, near=near)
    return Page(items=[wire.CacheOffer.model_validate(one) for one in found])


@router.get("/cache-refusals")
def list_refusals(
    actor: SignedIn, deps: DepsOf, volume: str | None = None, limit: Limit = DEFAULT_LIMIT
) -> Page[wire.Refused]:
    """What was refused last and is not there since, newest first."""
    found = cache_requests.refusals(deps, actor, volume=volume, limit=limit)
    return Page(items=[wire.Refused.model_validate(one) for one in found])


@router.get("/cache-policies")
def list_policies(
    actor: SignedIn,
    deps: DepsOf,
    volume: str | None = None,
    dataset: str | None = None,
    project: str | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.CachePolicy]:
    found = cache_policies.list_visible(
        deps, actor, volume=volume, dataset=dataset, project=project, limit=limit, cursor=cursor
    )
    return page(found, shapes.policy)


@router.post("/cache-policies", status_code=201)
def keep_branch(body: wire.CachePolicyCreate, actor: Keeper, deps: DepsOf) -> wire.CachePolicy:
    """Every commit the branch moves to is cached there by itself; the one before ages out. Keeping twice is once."""
    return shapes.policy(cache_policies.keep(deps, actor, body.dataset, body.volume, project=body.project))


@router.delete("/cache-policies/{policy}", status_code=204)
def unkeep_branch(policy: str, actor: Keeper, deps: DepsOf) -> None:
    cache_policies.unkeep(deps, actor, policy)
