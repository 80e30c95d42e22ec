"""Commits that nothing names any more: set aside first, removed some days later if that is still so.

Decided per dataset (decide/retention.py) and carried out only if no ref has moved since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import collecting, datasets, promised_pages
from millpond.db.collecting import CommitRow, DatasetSeen
from millpond.decide.collection import Mark, Policy, may_remove
from millpond.decide.retention import Retained, RetentionRule, retain
from millpond.lake.keys import ProjectKeys
from millpond.services.deps import Deps

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One dataset: its commits, why each stays or goes, and which of them are to be removed now."""

    dataset: DatasetSeen
    rows: Mapping[str, CommitRow]
    retained: Retained
    removable: Mapping[str, str] = field(default_factory=dict)

    def roots(self, *, without_removable: bool) -> list[tuple[str, Mark]]:
        """The trees that stay, each with the reason for it."""
        found: list[tuple[str, Mark]] = []
        for commit_id, row in self.rows.items():
            if commit_id not in self.removable or not without_removable:
                mark = Mark.SET_ASIDE if commit_id in self.retained.goes else Mark.NAMED
                found.append((row.tree, Mark.BIN if self.dataset.deleted_at is not None else mark))
        return found


def review(
    tx: Connection, project_id: str, policy: Policy, now: datetime, *, lineage: Mapping[str, str]
) -> list[Reviewed]:
    """All datasets of a project. What lies in the bin is left as it is, until the bin is emptied."""
    return [_review(tx, seen, policy, now, lineage) for seen in collecting.datasets_of(tx, project_id)]


def carry_out(deps: Deps, project_id: str, reviewed: Reviewed, now: datetime) -> bool:
    """Set commits aside, take them back, remove them. False if something has changed since the review."""
    goes, rows = reviewed.retained.goes, reviewed.rows
    aside = [commit_id for commit_id in goes if rows[commit_id].set_aside_at is None]
    back = [row.commit.id for row in rows.values() if row.set_aside_at is not None and row.commit.id not in goes]
    if not (aside or back or reviewed.removable):
        return True
    keys = ProjectKeys(project_id)
    try:
        with deps.db.write() as tx:
            if datasets.lock_next_record(tx, reviewed.dataset.id) != reviewed.dataset.next_record:
                return False
            named = collecting.named_by_others(tx, reviewed.dataset.id)
            cached = collecting.cached_ids(tx, reviewed.dataset.id)
            collecting.set_aside(tx, [commit_id for commit_id in aside if commit_id not in named], now)
            collecting.set_aside(tx, back, None)
            gone = [commit_id for commit_id in reviewed.removable if commit_id not in named and commit_id not in cached]
            collecting.delete_commits(tx, gone)
            promised_pages.doom(tx, project_id, [keys.commit(commit_id) for commit_id in gone], now)
    except IntegrityError:  # a cache or a job has named one of them this very moment
        return False
    for commit_id in gone:
        logger.info("commit_removed dataset=%s commit=%s why=%s", reviewed.dataset.id, commit_id, goes[commit_id])
    return True


def rule_of(retention: Mapping[str, object] | None) -> RetentionRule | None:
    """A dataset's rule as its row holds it."""
    if retention is None:
        return None
    last, days = retention.get("keep_last"), retention.get("keep_days")
    return RetentionRule(last if isinstance(last, int) else None, days if isinstance(days, int) else None)


def _review(tx: Connection, seen: DatasetSeen, policy: Policy, now: datetime, lineage: Mapping[str, str]) -> Reviewed:
    rows = {row.commit.id: row for row in collecting.commits_of(tx, seen.id)}
    if seen.deleted_at is not None:
        return Reviewed(seen, rows, Retained(dict.fromkeys(rows, "its dataset is in the bin")))
    named = {commit_id: why for commit_id, why in lineage.items() if commit_id in rows}
    retained = retain(
        [row.commit for row in rows.values()],
        collecting.refs_of(tx, seen.id),
        named={**named, **collecting.named_by_others(tx, seen.id)},
        rule=rule_of(seen.retention),
        now=now,
    )
    # What is set aside leaves its volumes first (services/caches/eviction.py): a lease may still be read there.
    cached = collecting.cached_ids(tx, seen.id)
    removable = {
        commit_id: why
        for commit_id, why in retained.goes.items()
        if commit_id not in cached and may_remove(rows[commit_id].set_aside_at, policy, now)
    }
    return Reviewed(seen, rows, retained, removable)
