"""Reading tools about cached commits and volumes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.caches import list_cached, list_evictions, list_offers, list_volumes, plan_evictions, why_cached
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Commit, Limit, Skip, Tools, reads

Volume = Annotated[str | None, Field(description="Only this volume.")]


class CacheTools(Tools):
    @reads("List cached commits")
    def list_caches(
        self,
        project: Annotated[str | None, Field(description="Only this project.")] = None,
        dataset: Annotated[str | None, Field(description="Only this dataset.")] = None,
        volume: Volume = None,
        limit: Limit = 50,
        skip: Skip = 0,
    ) -> dict[str, Any]:
        """List commits that lie on volumes: state, bytes, last use, who holds them."""
        return listed(
            list_cached(self._api, project=project, dataset=dataset, volume=volume), limit=limit, skip=skip
        )  # fmt: skip

    @reads("List volumes")
    def list_volumes(self, limit: Limit = 50, skip: Skip = 0) -> dict[str, Any]:
        """List volumes with capacity, use, watermarks, state."""
        return listed(list_volumes(self._api), limit=limit, skip=skip)

    @reads("Why is it cached")
    def why_cache(self, commit: Commit) -> dict[str, Any]:
        """Say why a commit is cached where it is, why it stays or goes, and why a request was refused."""
        where = self._place.commit(commit)
        return document(why_cached(self._api, f"{where.dataset}@{where.ref}", where.project))

    @reads("Plan evictions")
    def plan_evictions(self, volume: Volume = None) -> dict[str, Any]:
        """Say what would be evicted from volumes next, in which order and why. Nothing is evicted."""
        return listed(plan_evictions(self._api, volume), limit=50)

    @reads("List evictions")
    def list_evictions(self, volume: Volume = None, limit: Limit = 30) -> dict[str, Any]:
        """List what was evicted lately, each with the reason."""
        return listed(list_evictions(self._api, limit, volume=volume), limit=limit)

    @reads("Plan caching a commit")
    def plan_cache(
        self,
        commit: Commit,
        volume: Volume = None,
        near: Annotated[str | None, Field(description="A compute that it shall be near.")] = None,
    ) -> dict[str, Any]:
        """Say what caching a commit would take on each volume: bytes to fetch, seconds, what stands in the way.
        Nothing is cached."""
        where = self._place.commit(commit)
        asked = f"{where.dataset}@{where.ref}"
        return listed(list_offers(self._api, asked, project=where.project, volume=volume, near=near), limit=50)
