"""Tools that cache commits on volumes, and evict them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from millpond.client.caches import add_cached, clear_cached, list_cached, pin_cached
from millpond.client.datasets import get_commit
from millpond.errors import NotFound
from millpond.mcp.answers import document, listed
from millpond.mcp.tool import Commit, Tools, changes
from millpond.wire.cache import CacheAdd, CachedCommit

OneVolume = Annotated[str | None, Field(description="On this volume only; without it, on all.")]


class CacheChanges(Tools):
    @changes("Cache a commit", repeatable=True)
    def cache_commit(
        self,
        commit: Commit,
        volume: Annotated[str | None, Field(description="Volume; without it, the best one.")] = None,
        near: Annotated[str | None, Field(description="A compute that it shall be near.")] = None,
        idle_seconds: Annotated[int | None, Field(ge=1, description="Evict it when unused for so long.")] = None,
    ) -> dict[str, Any]:
        """Ask for a commit to be kept as plain files on a volume. Filling goes on after the answer: see list_caches."""
        where = self._place.commit(commit)
        asked = CacheAdd(dataset=f"{where.dataset}@{where.ref}", project=where.project, volume=volume, near=near,
                         idle_seconds=idle_seconds)  # fmt: skip
        return document(add_cached(self._api, asked))

    @changes("Evict a commit", destroys=True, repeatable=True)
    def evict_commit(self, commit: Commit, volume: OneVolume = None) -> dict[str, Any]:
        """Remove a cached commit from its volumes. The lake keeps it. Refused while a job or reader uses it."""
        found = self._cached(commit, volume)
        for one in found:
            clear_cached(self._api, one.id)
        return {"evicting": [{"id": one.id, "volume": one.volume} for one in found]}

    @changes("Pin a cached commit", repeatable=True)
    def pin_commit(
        self,
        commit: Commit,
        volume: OneVolume = None,
        pinned: Annotated[bool, Field(description="False lets it go again.")] = True,
    ) -> dict[str, Any]:
        """Keep a cached commit on its volumes until it is unpinned."""
        return listed([pin_cached(self._api, one.id, pinned=pinned) for one in self._cached(commit, volume)], limit=50)

    def _cached(self, commit: str, volume: str | None) -> list[CachedCommit]:
        where = self._place.commit(commit)
        wanted = get_commit(self._api, where.project, where.dataset, where.ref).id
        listed_ = list_cached(self._api, project=where.project, dataset=where.dataset, volume=volume)
        found = [one for one in listed_ if one.commit_id == wanted]
        if not found:
            on = f" on volume {volume}" if volume else ""
            raise NotFound(f"{where.written} is not cached{on}.", hint="See what is: list_caches.")
        return found
