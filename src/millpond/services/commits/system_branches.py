"""Branches of hidden datasets, one for each job or run: removed when that no longer needs what is on it."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from millpond.db import commits, datasets
from millpond.db.datasets import PendingRecord
from millpond.lake.records import Move
from millpond.model.dataset import Dataset, RefType
from millpond.model.people import SYSTEM
from millpond.services.commits import records
from millpond.services.deps import Deps


def remove(deps: Deps, project_id: str, dataset_name: str, branch: str, now: datetime) -> None:
    """Let go of the branch, if it is there; what nothing else needs is collected."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project_id, dataset_name)
        found = commits.find_ref(tx, dataset.id, branch) if dataset else None
    if dataset is not None and found is not None:
        records.write(deps, partial(_reserve_removal, dataset=dataset, branch=branch, now=now))


def _reserve_removal(tx: Connection, *, dataset: Dataset, branch: str, now: datetime) -> PendingRecord:
    records.wait_for_lock(tx, dataset.id, branch)
    current = commits.find_ref(tx, dataset.id, branch)
    move = Move(ref=branch, type=RefType.BRANCH, commit=None, previous=current.commit_id if current else None)
    return records.reserve(tx, dataset, move, lock=branch, by=SYSTEM.name, now=now)
