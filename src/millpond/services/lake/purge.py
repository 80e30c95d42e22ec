"""Emptying the bin of datasets: in one transaction all rows go, and every object of theirs is doomed."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy.exc import IntegrityError

from millpond.db import collecting, datasets, promised
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Dataset
from millpond.model.people import SYSTEM, Actor
from millpond.services.deps import Deps
from millpond.services.people import audit

logger = getLogger(__name__)

_AT_ONCE = 100


def purge_datasets(deps: Deps, now: datetime) -> int:
    """Remove for good what was deleted more than `bin_days` ago; how many. What is still cached waits."""
    with deps.db.read() as tx:
        old = datasets.deleted_before(tx, now - timedelta(days=deps.settings.bin_days), limit=_AT_ONCE)
    return sum(purge_dataset(deps, SYSTEM, dataset, now) for dataset in old)


def purge_dataset(deps: Deps, actor: Actor, dataset: Dataset, now: datetime) -> bool:
    """Whether it is gone: not while it is cached somewhere, and not if it was brought back meanwhile."""
    keys = ProjectKeys(dataset.project_id)
    try:
        with deps.db.write() as tx:
            next_record = datasets.lock_next_record(tx, dataset.id)
            if not datasets.is_deleted(tx, dataset.id) or collecting.is_cached(tx, dataset.id):
                return False
            commits = [row.commit.id for row in collecting.commits_of(tx, dataset.id)]
            promised.doom(tx, dataset.project_id, (keys.commit(commit_id) for commit_id in commits), now)
            # In the order of keys: without the record that made it, nobody takes the rest for a dataset.
            numbers = range(next_record)
            promised.doom(tx, dataset.project_id, (keys.record(dataset.id, number) for number in numbers), now)
            collecting.delete_dataset(tx, dataset.id)
            audit.record(
                tx, now=now, actor=actor, action="dataset.purge", subject=dataset.written,
                project_id=dataset.project_id, details={"commits": len(commits)},
            )  # fmt: skip
    except IntegrityError:
        logger.warning("dataset_not_purged dataset=%s reason=something names one of its commits", dataset.id)
        return False
    logger.info("dataset_purged dataset=%s", dataset.id)
    return True
