"""How far targets are behind their sources: counted when a source has something new, and kept with the mirror."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, mirrors, workspace_snapshots
from millpond.errors import MillError
from millpond.lake.diff import diff_trees
from millpond.model.dataset import Commit
from millpond.model.mirror import MOST_COUNTED, Lag, Mirror
from millpond.model.tree import TreeChange
from millpond.services.datasets.reading import pages_of
from millpond.services.deps import Deps
from millpond.services.mirrors.origin import Origin, labelled, newest, own_series

logger = getLogger(__name__)
# What wakes the loop, and where pages hear of what it counted.
TOPIC = "branches"
EVENTS = "mirrors"


@dataclass(frozen=True, slots=True)
class _Behind:
    commits: int
    since: datetime


def lag_of(mirror: Mirror, now: datetime) -> Lag | None:
    """None as long as nobody has counted, or nothing was mirrored yet."""
    if mirror.lag_head is None:
        return None
    since = mirror.lag_since
    return Lag(mirror.lag_commits, mirror.lag_bytes, max(0.0, (now - since).total_seconds()) if since else 0.0)


def count_all(deps: Deps, now: datetime) -> int:
    """Count anew where a source has something else than when it was counted last; how many."""
    with deps.db.read() as tx:
        due = [(one, found) for one in mirrors.all_mirrors(tx) if (found := newest(tx, one)) and _is_due(one, found)]
    for mirror, origin in due:
        _count_patiently(deps, mirror, origin)
    return len(due)


def none_behind(origin: Origin) -> Mapping[str, Any]:
    """The columns of a mirror whose target has just become the same as its origin."""
    return {"lag_head": _key(origin.commit.id, origin), "lag_commits": 0, "lag_bytes": 0, "lag_since": None}


def _count_patiently(deps: Deps, mirror: Mirror, origin: Origin) -> None:
    try:
        _count(deps, mirror, origin)
    except MillError as error:  # the lake does not answer: the next time
        logger.warning("lag_not_counted mirror=%s reason=%s", mirror.id, error.message)
        return
    deps.events.publish(EVENTS, project_id=mirror.project_id, data={"id": mirror.id, "what": "mirror"})


def _is_due(mirror: Mirror, origin: Origin) -> bool:
    return mirror.lag_head != _key(mirror.commit_id, origin)


def _key(target: str | None, origin: Origin) -> str:
    """Of both ends: what the lag was counted between. Room for 64 digits."""
    return f"{(target or '')[:32]}{origin.commit.id[:32]}"


def _count(deps: Deps, mirror: Mirror, origin: Origin) -> None:
    with deps.db.read() as tx:
        there = commits.get(tx, mirror.commit_id) if mirror.commit_id else None
        behind = _behind(tx, mirror, origin, there)
    changed = 0
    if behind.commits and there is None:
        changed = origin.commit.bytes
    elif behind.commits and there is not None:
        changed = sum(map(_sent, diff_trees(pages_of(deps, origin.dataset), there.tree, origin.commit.tree)))
    with deps.db.write() as tx:
        mirrors.change(
            tx, mirror.id, lag_head=_key(mirror.commit_id, origin), lag_commits=behind.commits, lag_bytes=changed,
            lag_since=behind.since if behind.commits else None,
        )  # fmt: skip


def _behind(tx: Connection, mirror: Mirror, origin: Origin, there: Commit | None) -> _Behind:
    """Commits of a branch, or snapshots of a workspace, that the target lacks, and since when the oldest is there."""
    if there is not None and there.id == origin.commit.id:
        return _Behind(0, origin.at)
    if mirror.workspace_id is not None:
        known = workspace_snapshots.of_workspace(tx, mirror.workspace_id)
        series = mirror.label or own_series(mirror)
        after = mirror.content_at
        moments = [one.taken_at for one in labelled(known, series) if one.taken_at and one.commit_id]
        newer = [moment for moment in moments if after is None or moment > after]
        return _Behind(len(newer) or 1, min(newer, default=origin.at))
    count, commit = 1, origin.commit
    while count < MOST_COUNTED and commit.parents and (there is None or there.id not in commit.parents):
        before = commits.get(tx, commit.parents[0])
        if before is None:
            break
        count, commit = count + 1, before
    return _Behind(count, commit.time)


def _sent(change: TreeChange) -> int:
    return change.after.size if change.after is not None else 0
