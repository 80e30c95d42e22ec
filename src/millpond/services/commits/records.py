"""Dataset records, in two transactions: reserved with their text, written to the lake, made visible.

Whoever comes next finishes what a crash left between the two: the text is in the database, and writing it twice
writes the same bytes (docs/design/001-lake-format.md).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import collecting, commits, datasets, promised
from millpond.db.datasets import PendingRecord
from millpond.errors import Conflict, Corrupt, StoreUnavailable
from millpond.lake.commits import encode_commit
from millpond.lake.keys import ProjectKeys
from millpond.lake.records import (
    Create,
    DatasetRecord,
    Delete,
    Move,
    Operation,
    Purge,
    Rename,
    Restore,
    decode_record,
    encode_record,
)
from millpond.model.dataset import Dataset, Ref
from millpond.services.deps import Deps

logger = getLogger(__name__)

# The lock of everything that changes the dataset itself; a ref's lock is its name, which never holds a colon.
DATASET_LOCK = ":dataset"
# A living server finishes its own records within moments; older ones were left by a crash.
LEFT_BEHIND = timedelta(seconds=30)
_TRIES = 20


class _Locked(Exception):
    """Another record holds the lock; it is finished first."""

    def __init__(self, holder: PendingRecord) -> None:
        super().__init__(holder)
        self.holder = holder


def write(deps: Deps, prepare: Callable[[Connection], PendingRecord]) -> None:
    """Write one record. `prepare` runs in the first transaction: it checks, and ends with `reserve`.

    It may run several times: whenever it meets a locked ref, that record is finished and it starts again.
    """
    for _ in range(_TRIES):
        try:
            with deps.db.write() as tx:
                pending = prepare(tx)
        except _Locked as locked:
            finish(deps, locked.holder)
            continue
        finish(deps, pending)
        return
    raise StoreUnavailable("Many others change this dataset just now.", hint="Try again in a moment.")


def reserve(
    tx: Connection, dataset: Dataset, operation: Operation, *, lock: str, by: str, now: datetime
) -> PendingRecord:
    """Take the next number and keep the text. From here on the record will be written, whatever happens."""
    number = datasets.lock_next_record(tx, dataset.id)
    holder = datasets.locked_by(tx, dataset.id, lock)
    if holder is not None:
        raise _Locked(holder)
    record = DatasetRecord(dataset_id=dataset.id, number=number, at=now, by=by, operation=operation)
    pending = PendingRecord(dataset.project_id, dataset.id, number, encode_record(record).decode())
    datasets.insert_record(tx, pending, lock=lock, now=now)
    if not isinstance(operation, Create):  # a dataset whose next record is 0 is not visible: `_apply` shows it
        datasets.change(tx, dataset.id, next_record=number + 1)
    return pending


def wait_for_lock(tx: Connection, dataset_id: str, lock: str) -> None:
    """Inside `prepare`, before its checks: start again once a record that holds `lock` is finished.

    The dataset's row is locked with it: nothing that is read after this changes until the transaction ends.
    """
    datasets.lock_next_record(tx, dataset_id)
    holder = datasets.locked_by(tx, dataset_id, lock)
    if holder is not None:
        raise _Locked(holder)


def wait_for(pending: PendingRecord) -> None:
    """Inside `prepare`: start again once this record is finished."""
    raise _Locked(pending)


def finish(deps: Deps, pending: PendingRecord) -> None:
    """Write the record to the lake and make it visible. Any number of servers may do so at once.

    The commit it names goes first: its row came before it, so no object of the lake is without a row.
    """
    body = pending.body.encode()
    record = decode_record(body)
    if isinstance(record.operation, Move) and record.operation.commit is not None:
        _write_commit(deps, pending.project_id, record.operation.commit)
    key = ProjectKeys(pending.project_id).record(pending.dataset_id, pending.n)
    try:
        deps.store.put(key, body, if_absent=True)
    except Conflict:
        if deps.store.get(key) != body:
            raise Corrupt(
                f"The lake already has another record {pending.n} of dataset {pending.dataset_id}.",
                hint="Another server writes to this lake: `mill doctor` says which.",
            ) from None
    with deps.db.write() as tx:
        if datasets.delete_record(tx, pending.dataset_id, pending.n):
            _apply(tx, pending.project_id, record)


def finish_pending(deps: Deps, *, older_than: timedelta = timedelta(0)) -> int:
    """Finish what a crash left behind; how many there were. Called at start with no age, and by housekeeping."""
    before = deps.clock.now() - older_than
    with deps.db.read() as tx:
        # At start everything counts, also what a clock that ran ahead has written.
        left = datasets.pending(tx, before=before if older_than else None)
    for pending in left:
        finish(deps, pending)
        logger.info("record_finished dataset=%s n=%d", pending.dataset_id, pending.n)
    return len(left)


def _write_commit(deps: Deps, project_id: str, commit_id: str) -> None:
    with deps.db.read() as tx:
        commit = commits.get(tx, commit_id)
    if commit is None:
        raise Corrupt(f"The database has lost commit {commit_id}.")
    with suppress(Conflict):  # an earlier try, or an earlier ref at the same commit
        deps.store.put(ProjectKeys(project_id).commit(commit_id), encode_commit(commit), if_absent=True)


def _apply(tx: Connection, project_id: str, record: DatasetRecord) -> None:
    match record.operation:
        case Create():
            datasets.change(tx, record.dataset_id, next_record=1)
        case Rename(name=name):
            datasets.change(tx, record.dataset_id, name=name, active_at=record.at)
        case Delete():
            datasets.change(tx, record.dataset_id, deleted_at=record.at)
        case Restore():
            datasets.change(tx, record.dataset_id, deleted_at=None)
        case Purge():
            _purge(tx, project_id, record)
        case Move(ref=name, commit=None):
            commits.delete_ref(tx, record.dataset_id, name)
            datasets.change(tx, record.dataset_id, active_at=record.at)
        case Move(ref=name, type=type_, commit=str(commit_id)):
            commits.set_ref(tx, Ref(record.dataset_id, name, type_, commit_id, record.at))
            datasets.change(tx, record.dataset_id, active_at=record.at)


def _purge(tx: Connection, project_id: str, record: DatasetRecord) -> None:
    """All rows go, and every object of theirs is doomed, this record last. What something still names stays."""
    keys = ProjectKeys(project_id)
    commit_ids = [row.commit.id for row in collecting.commits_of(tx, record.dataset_id)]
    try:
        with tx.begin_nested():
            collecting.delete_dataset(tx, record.dataset_id)
    except IntegrityError:
        logger.warning("dataset_not_purged dataset=%s reason=something names one of its commits", record.dataset_id)
        return
    promised.doom(tx, project_id, (keys.commit(commit_id) for commit_id in commit_ids), record.at)
    numbers = range(record.number + 1)
    promised.doom(tx, project_id, (keys.record(record.dataset_id, number) for number in numbers), record.at)
