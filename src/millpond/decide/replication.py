"""Decides in which order a replica gets the objects of a commit, and says how far it is behind.

Whatever moment copying ends at, what the replica shows can be read: a commit comes after its pages, a record after the
commits that it names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.model.lake_replica import LakeReplicaLag
from millpond.model.quantity import format_bytes, format_count, format_seconds

# A replica that lacks commits for longer than this is told as a problem.
LATE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class CommitParts:
    """What a replica lacks of one commit, by ids: packs, leaves (each with its locator) and the pages above them."""

    packs: Collection[str]
    leaves: Collection[str]
    index_pages: Collection[str]


def copy_order(packs: Mapping[str, int], pages: Mapping[str, int]) -> CommitParts:
    """In the order in which they are copied, large packs first; `packs` with sizes, `pages` with levels."""
    return CommitParts(
        packs=sorted(packs, key=lambda pack_id: (-packs[pack_id], pack_id)),
        leaves=sorted(page_id for page_id, level in pages.items() if level == 0),
        index_pages=sorted((page_id for page_id, level in pages.items() if level), key=lambda one: (pages[one], one)),
    )


def records_ready(commits: Sequence[str | None], held: Collection[str]) -> int:
    """How many records, in their order, may be copied: each names a commit that the replica holds, or none."""
    for number, commit_id in enumerate(commits):
        if commit_id is not None and commit_id not in held:
            return number
    return len(commits)


def seconds_behind(lag: LakeReplicaLag, now: datetime) -> float:
    """Since when its oldest missing commit is in the lake; 0 if it has all."""
    return max(0.0, (now - lag.since).total_seconds()) if lag.since is not None else 0.0


def describe_lag(lag: LakeReplicaLag, now: datetime) -> str:
    if lag.is_none:
        return "up to date"
    if not lag.commits:
        return f"{format_bytes(lag.bytes)} behind"
    behind = f"{format_count(lag.commits, 'commit')} and {format_bytes(lag.bytes)} behind"
    return f"{behind}, for {format_seconds(seconds_behind(lag, now))}"


def why_unwell(problem: str | None, lag: LakeReplicaLag, now: datetime) -> str | None:
    """What is wrong with a replica; None if nothing is."""
    if problem is not None:
        return problem
    return describe_lag(lag, now) if seconds_behind(lag, now) > LATE_SECONDS else None
