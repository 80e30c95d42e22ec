"""Emptying the bin of datasets: a record in the lake says so, then all rows go, and every object is doomed."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import collecting, datasets
from millpond.db.datasets import PendingRecord
from millpond.errors import NotFound, ReadOnly
from millpond.lake.records import Purge
from millpond.model.dataset import Dataset
from millpond.model.people import SYSTEM, Actor
from millpond.services.commits import records
from millpond.services.deps import Deps
from millpond.services.people import audit

logger = getLogger(__name__)

_AT_ONCE = 100


class _InUse(Exception):
    """It is cached somewhere, or was brought back meanwhile."""


def purge_datasets(deps: Deps, now: datetime) -> int:
    """Remove for good what was deleted more than `bin_days` ago; how many. What is still cached waits."""
    with deps.db.read() as tx:
        old = datasets.deleted_before(tx, now - timedelta(days=deps.settings.bin_days), limit=_AT_ONCE)
    return sum(purge_dataset(deps, SYSTEM, dataset, now) for dataset in old)


def purge_dataset(deps: Deps, actor: Actor, dataset: Dataset, now: datetime) -> bool:
    """Whether it is gone: not while it is cached somewhere or differs from the lake, nor if it was brought back.

    From the record on it is gone for whoever reads the lake, too: a reindex does not bring it back.
    """

    def prepare(tx: Connection) -> PendingRecord:
        records.wait_for_lock(tx, dataset.id, records.DATASET_LOCK)
        if not datasets.is_deleted(tx, dataset.id) or collecting.is_held(tx, dataset.id):
            raise _InUse
        audit.record(
            tx, now=now, actor=actor, action="dataset.purge", subject=dataset.written,
            project_id=dataset.project_id, details={"commits": len(collecting.commits_of(tx, dataset.id))},
        )  # fmt: skip
        return records.reserve(tx, dataset, Purge(), lock=records.DATASET_LOCK, by=actor.name, now=now)

    try:
        records.write(deps, prepare)
    except (_InUse, ReadOnly):
        return False
    except NotFound:  # another server was quicker
        return True
    with deps.db.read() as tx:
        is_gone = datasets.name_of(tx, dataset.id) is None
    if is_gone:
        logger.info("dataset_purged dataset=%s", dataset.id)
    return is_gone
