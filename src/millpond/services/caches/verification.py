"""Verifying cached commits: asked for by people, carried out by agents, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import caches, shares, volumes
from millpond.errors import NotReady
from millpond.model.cached_state import CachedState
from millpond.model.documents import to_document
from millpond.model.people import Actor, Role
from millpond.model.volume import CachedCommit, CacheVerification
from millpond.services.caches.access import announce, audit_cache, find_cached, lock_cached
from millpond.services.caches.admission.admit import check_usable
from millpond.services.caches.explain.details import CachedDetails, details
from millpond.services.deps import Deps
from millpond.wire.observed import FillSeen, Verified


def verify(deps: Deps, actor: Actor, cached_id: str) -> CachedDetails:
    """Have every file held against its digest, and what is wrong fetched anew. Asking while one goes on joins it."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        volume, view = lock_cached(tx, actor, cached_id)
        if view.cached.state is not CachedState.READY:
            raise NotReady(
                f"{view.written} on {view.volume} is {view.cached.state.value}.",
                hint="Only fully cached commits can be verified.",
            )
        check_usable(volume)
        if not view.cached.is_verifying:
            number = volumes.take_attempt(tx, volume.id)
            asked = CacheVerification(number=number, state="asked", asked_by=actor.name, asked_at=now)
            caches.change(tx, cached_id, verify=number, verification=to_document(asked))
            audit_cache(tx, actor, "cache.verify", view, now)
        view = find_cached(tx, actor, cached_id, Role.MEMBER)
        shown = details(tx, actor, [view], now)[0]
    announce(deps, [view], "changed")
    return shown


def renumber(tx: Connection, row: CachedCommit, number: int) -> None:
    """Another agent carries it out, under a new number."""
    caches.change(tx, row.id, verify=number, verification={**(row.verification or {}), "number": number})


def observe(tx: Connection, row: CachedCommit, seen: FillSeen, now: datetime) -> str | None:
    """One report under the current number; what it changed, None for nothing new."""
    before = row.verification or {}
    after = {**before, **_found(before, seen, now)}
    if after == before:
        return None
    caches.change(tx, row.id, verification=after)
    if seen.verified is not None and seen.verified.healed_files:
        # What was healed may not be shared any more, or be again: it is measured anew.
        shares.replace(tx, row.volume_id, row.project_id, ())
    return "progress" if after["state"] == "running" else "verified"


def _found(before: Mapping[str, Any], seen: FillSeen, now: datetime) -> dict[str, Any]:
    if seen.state == "verified":
        return {"state": "done", "ended_at": now.isoformat(), "problem": None, **_numbers(seen.verified or Verified())}
    if seen.state == "failed" and not seen.transient:
        return {"state": "failed", "ended_at": now.isoformat(), "problem": seen.problem or "It could not be verified."}
    return {
        "state": "running",
        "problem": seen.problem,
        "checked_files": seen.done_files or before.get("checked_files", 0),
        "checked_bytes": seen.done_bytes or before.get("checked_bytes", 0),
    }


def _numbers(found: Verified) -> dict[str, Any]:
    """Whatever is not as it should be counts as damaged: people ask how many files were wrong."""
    wrong = found.damaged_files + found.missing_files + found.extra_files
    return {**found.model_dump(), "damaged_files": wrong}
