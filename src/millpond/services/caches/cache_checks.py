"""Verifications of cached commits as agents carry them out: which are to be done, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import caches, shares
from millpond.model.cached_state import CachedState
from millpond.model.volume import CachedCommit
from millpond.wire.observed import FillSeen, Verified

# A verification in one of these states is still to be carried out.
_TO_DO = ("asked", "running")


def is_verifying(row: CachedCommit) -> bool:
    """Whether its last verification is still to be carried out. Only what is there and whole is verified."""
    return row.state is CachedState.READY and row.verification is not None and row.verification["state"] in _TO_DO


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
