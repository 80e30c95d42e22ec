"""Sites, volumes, cached commits and evictions, over the API."""

from __future__ import annotations

import time
from collections.abc import Iterator

from millpond.client.caching import LEAVING_SECONDS, LOOK_SECONDS, PROGRESS_SECONDS, ask_cached, look_again
from millpond.client.http import Api, segment
from millpond.errors import NotFound
from millpond.model.cached_state import CachedState
from millpond.wire.base import Page
from millpond.wire.cache import (
    CacheAdd,
    CacheAdded,
    CacheChange,
    CachedCommit,
    CacheHold,
    Eviction,
    Site,
    SiteCreate,
    Tier,
    TierPut,
    Volume,
    VolumeChange,
    VolumeCreate,
    VolumeLimitPut,
)
from millpond.wire.cache_plans import CacheOffer, CachePolicy, CachePolicyCreate, CacheWhy, Refused, VolumePlan


def list_sites(api: Api) -> Iterator[Site]:
    return api.items("/sites", Site)


def create_site(api: Api, name: str) -> Site:
    return api.send("POST", "/sites", Site, SiteCreate(name=name))


def list_volumes(api: Api) -> Iterator[Volume]:
    return api.items("/volumes", Volume)


def get_volume(api: Api, name: str) -> Volume:
    return api.get(f"/volumes/{segment(name)}", Volume)


def create_volume(api: Api, request: VolumeCreate) -> Volume:
    return api.send("POST", "/volumes", Volume, request)


def change_volume(api: Api, name: str, change: VolumeChange) -> Volume:
    return api.send("PATCH", f"/volumes/{segment(name)}", Volume, change)


def delete_volume(api: Api, name: str, *, force: bool = False) -> None:
    api.request("DELETE", f"/volumes/{segment(name)}", params={"force": 1 if force else None})


def limit_volume(api: Api, name: str, project: str, limit: int | None) -> Volume:
    """What a project may take of a volume at most; None takes the limit away."""
    path = f"/volumes/{segment(name)}/limits/{segment(project)}"
    if limit is None:
        return api.send("DELETE", path, Volume, idempotent=True)
    return api.send("PUT", path, Volume, VolumeLimitPut(bytes=limit), idempotent=True)


def list_tiers(api: Api) -> Iterator[Tier]:
    return api.items("/tiers", Tier)


def put_tier(api: Api, name: str, change: TierPut) -> Tier:
    """Add a tier, or change what is given of it."""
    return api.send("PUT", f"/tiers/{segment(name)}", Tier, change, idempotent=True)


def remove_tier(api: Api, name: str) -> None:
    api.request("DELETE", f"/tiers/{segment(name)}")


def list_cached(
    api: Api, *, project: str | None = None, dataset: str | None = None, volume: str | None = None
) -> Iterator[CachedCommit]:
    return api.items("/caches", CachedCommit, project=project, dataset=dataset, volume=volume)


def get_cached(api: Api, cached_id: str) -> CachedCommit:
    return api.get(f"/caches/{segment(cached_id)}", CachedCommit)


def wait_cached(api: Api, cached_id: str, seconds: float = PROGRESS_SECONDS) -> CachedCommit:
    """The same after `seconds`, or as soon as it is neither being filled nor verified any more."""
    return look_again(api, cached_id, CachedCommit, _goes_on, seconds)


def add_cached(api: Api, request: CacheAdd, *, patience: float = LEAVING_SECONDS) -> CacheAdded:
    """What is just leaving its volume is asked for again until it has left; NotReady when that takes too long."""
    return ask_cached(api, request, CacheAdded, patience=patience)


def clear_cached(api: Api, cached_id: str) -> None:
    """Have it removed; `wait_cleared` says when it is."""
    api.request("DELETE", f"/caches/{segment(cached_id)}")


def wait_cleared(api: Api, cached_id: str, *, patience: float = LEAVING_SECONDS) -> CachedCommit | None:
    """None once it is gone; what is known of it as soon as something is in the way, or when it takes too long."""
    ends = time.monotonic() + patience
    while True:
        try:
            found = get_cached(api, cached_id)
        except NotFound:
            return None
        if found.problem or time.monotonic() >= ends:
            return found
        time.sleep(LOOK_SECONDS)


def pin_cached(api: Api, cached_id: str, *, pinned: bool) -> CachedCommit:
    method = "POST" if pinned else "DELETE"
    return api.send(method, f"/caches/{segment(cached_id)}/pin", CachedCommit, idempotent=True)


def change_cached(api: Api, cached_id: str, change: CacheChange) -> CachedCommit:
    return api.send("PATCH", f"/caches/{segment(cached_id)}", CachedCommit, change, idempotent=True)


def hold_cached(api: Api, cached_id: str, asked: CacheHold) -> CachedCommit:
    """Asking again holds it until the later time."""
    return api.send("POST", f"/caches/{segment(cached_id)}/hold", CachedCommit, asked, idempotent=True)


def release_cached(api: Api, cached_id: str, *, reader: str | None = None, user: str | None = None) -> CachedCommit:
    """End one's own holds, or what one reader has; or, as an administrator of the project, what another user holds."""
    path = f"/caches/{segment(cached_id)}/hold"
    return api.send("DELETE", path, CachedCommit, idempotent=True, reader=reader, user=user)


def verify_cached(api: Api, cached_id: str) -> CachedCommit:
    """Asking while one goes on joins it."""
    return api.send("POST", f"/caches/{segment(cached_id)}/verify", CachedCommit, idempotent=True)


def why_cached(api: Api, dataset: str, project: str | None = None) -> CacheWhy:
    return api.get("/cache-why", CacheWhy, dataset=dataset, project=project)


def plan_evictions(api: Api, volume: str | None = None) -> list[VolumePlan]:
    return api.get("/cache-plan", Page[VolumePlan], volume=volume).items


def list_policies(
    api: Api, *, project: str | None = None, dataset: str | None = None, volume: str | None = None
) -> Iterator[CachePolicy]:
    return api.items("/cache-policies", CachePolicy, project=project, dataset=dataset, volume=volume)


def keep_branch(api: Api, asked: CachePolicyCreate) -> CachePolicy:
    return api.send("POST", "/cache-policies", CachePolicy, asked, idempotent=True)


def unkeep_branch(api: Api, policy_id: str) -> None:
    api.request("DELETE", f"/cache-policies/{segment(policy_id)}")


def list_evictions(api: Api, at_most: int, *, volume: str | None = None) -> Iterator[Eviction]:
    return api.items("/evictions", Eviction, at_most=at_most, volume=volume)


def list_refusals(api: Api, *, volume: str | None = None) -> list[Refused]:
    return api.get("/cache-refusals", Page[Refused], volume=volume).items


def list_offers(
    api: Api, dataset: str, *, project: str | None = None, volume: str | None = None, near: str | None = None
) -> list[CacheOffer]:
    """What asking for a commit would bring, the best volume first; nothing is done."""
    query = {"dataset": dataset, "project": project, "volume": volume, "near": near}
    return api.get("/cache-offers", Page[CacheOffer], **query).items


def _goes_on(found: CachedCommit) -> bool:
    is_verifying = found.verification is not None and found.verification.ended_at is None
    return found.state is CachedState.FILLING or is_verifying
