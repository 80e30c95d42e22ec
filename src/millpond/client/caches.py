"""Sites, volumes, cached commits and evictions, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api, segment
from millpond.wire.cache import (
    CacheAdd,
    CacheAdded,
    CachedCommit,
    Eviction,
    Site,
    SiteCreate,
    Volume,
    VolumeChange,
    VolumeCreate,
)


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


def list_cached(
    api: Api, *, project: str | None = None, dataset: str | None = None, volume: str | None = None
) -> Iterator[CachedCommit]:
    return api.items("/caches", CachedCommit, project=project, dataset=dataset, volume=volume)


def get_cached(api: Api, cached_id: str) -> CachedCommit:
    return api.get(f"/caches/{segment(cached_id)}", CachedCommit)


def add_cached(api: Api, request: CacheAdd) -> CacheAdded:
    # Asking twice is one fill: the server answers with the one that is there or on its way.
    return api.send("POST", "/caches", CacheAdded, request, idempotent=True)


def clear_cached(api: Api, cached_id: str) -> None:
    api.request("DELETE", f"/caches/{segment(cached_id)}")


def pin_cached(api: Api, cached_id: str, *, pinned: bool) -> CachedCommit:
    method = "POST" if pinned else "DELETE"
    return api.send(method, f"/caches/{segment(cached_id)}/pin", CachedCommit, idempotent=True)


def list_evictions(api: Api, at_most: int) -> Iterator[Eviction]:
    return api.items("/evictions", Eviction, at_most=at_most)
