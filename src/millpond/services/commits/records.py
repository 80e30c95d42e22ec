"""Dataset records, in two transactions: reserved with their text, written to the lake, made visible.

Whoever comes next finishes what a crash left between the two: the text is in the database, and writing it twice
writes the same bytes (docs/design/001-lake-format.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import collecting, commits, datasets, promised_pages
from millpond.db.datasets import PendingRecord
from millpond.errors import Conflict, Corrupt, ReadOnly, StoreUnavailable
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
    # Before anything is reserved: a record that may not be written would stay pending.
    deps.fence.check()
    for _ in range(_TRIES):
        try:
            with deps.db.write() as tx:
                pending = prepare(tx)
        except _Locked as locked:
            finish(deps, locked.holder)
            continue
        finish(deps, pending)
        return
    raise StoreUnavailable("Too many concurrent changes to this dataset.", hint="Try again in a moment.")


def reserve(
    tx: Connection, dataset: Dataset, operation: Operation, *, lock: str, by: str, now: datetime
) -> PendingRecord:
    """Take the next number and keep the text. From here on the record will be written, whatever happens."""
    number = datasets.lock_next_record(tx, dataset.id)
    check_writable(tx, dataset.id)
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
    check_writable(tx, dataset_id)
    holder = datasets.locked_by(tx, dataset_id, lock)
    if holder is not None:
        raise _Locked(holder)


def check_writable(tx: Connection, dataset_id: str) -> None:
    """ReadOnly for a dataset that differs from the lake."""
    for found in datasets.in_conflict(tx, dataset_id=dataset_id):
        raise ReadOnly(
            f"{found.written} is read-only: {found.reason}",
            hint=f"A site administrator brings it up to date: mill lake reconcile {found.written.partition('/')[0]}",
        )


def confine(deps: Deps, dataset_id: str, reason: str) -> None:
    """Make one dataset read-only; everything else goes on."""
    with deps.db.write() as tx:
        datasets.change(tx, dataset_id, conflict=reason)
    logger.error("dataset_read_only dataset=%s reason=%s", dataset_id, reason)


def wait_for(pending: PendingRecord) -> None:
    """Inside `prepare`: start again once this record is finished."""
    raise _Locked(pending)


def finish(deps: Deps, pending: PendingRecord) -> None:
    """Write the record to the lake and make it visible. Any number of servers may do so at once.

    The commit it names goes first: its row came before it, so no object of the lake is without a row.
    """
    # In the epoch of whoever writes it: an earlier one may have been over since it was reserved.
    record = replace(decode_record(pending.body.encode()), epoch=deps.fence.epoch)
    body = encode_record(record)
    if isinstance(record.operation, Move) and record.operation.commit is not None:
        _write_commit(deps, pending.project_id, record.operation.commit)
    keys = ProjectKeys(pending.project_id)
    _write_record(deps, keys.record(pending.dataset_id, pending.n, deps.fence.epoch), pending, body)
    # Earlier owners of the lake have written under other keys, which only the lake knows.
    is_purge = isinstance(record.operation, Purge)
    written = [info.key for info in deps.store.list(keys.records(pending.dataset_id))] if is_purge else []
    with deps.db.write() as tx:
        if datasets.delete_record(tx, pending.dataset_id, pending.n):
            _apply(tx, pending.project_id, record, written)


def finish_pending(deps: Deps, *, older_than: timedelta = timedelta(0)) -> int:
    """Finish what a crash left behind; how many there were. Called at start with no age, and by housekeeping."""
    before = deps.clock.now() - older_than
    with deps.db.read() as tx:
        # At start everything counts, also what a clock that ran ahead has written.
        left = datasets.pending(tx, before=before if older_than else None)
        read_only = {found.dataset_id for found in datasets.in_conflict(tx)}
    for pending in left:
        if pending.dataset_id in read_only:
            continue
        try:
            finish(deps, pending)
        except ReadOnly:  # found just now, and noted with the dataset
            continue
        logger.info("record_finished dataset=%s n=%d", pending.dataset_id, pending.n)
    return len(left)


def _write_record(deps: Deps, key: str, pending: PendingRecord, body: bytes) -> None:
    """ReadOnly, from now on, if the lake holds another record of that number: one that this database does not know."""
    try:
        deps.store.put(key, body, if_absent=True)
    except Conflict:
        if deps.store.get(key) != body:
            confine(deps, pending.dataset_id, differs(pending.n))
            with deps.db.read() as tx:
                check_writable(tx, pending.dataset_id)


def differs(number: int) -> str:
    return (
        f"the lake holds a record {number} of it that this database does not know, "
        "as after an older copy of the database was restored."
    )


def _write_commit(deps: Deps, project_id: str, commit_id: str) -> None:
    with deps.db.read() as tx:
        commit = commits.get(tx, commit_id)
    if commit is None:
        raise Corrupt(f"Commit {commit_id} is missing from the database.")
    with suppress(Conflict):  # an earlier try, or an earlier ref at the same commit
        deps.store.put(ProjectKeys(project_id).commit(commit_id), encode_commit(commit), if_absent=True)


def _apply(tx: Connection, project_id: str, record: DatasetRecord, written: Sequence[str]) -> None:
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
            _purge(tx, project_id, record, written)
        case Move(ref=name, commit=None):
            commits.delete_ref(tx, record.dataset_id, name)
            datasets.change(tx, record.dataset_id, active_at=record.at)
        case Move(ref=name, type=type_, commit=str(commit_id)):
            commits.set_ref(tx, Ref(record.dataset_id, name, type_, commit_id, record.at))
            datasets.change(tx, record.dataset_id, active_at=record.at)


def _purge(tx: Connection, project_id: str, record: DatasetRecord, written: Sequence[str]) -> None:
    """All rows go, and every object of theirs is doomed, this record last. What something still names stays."""
    keys = ProjectKeys(project_id)
    commit_ids = [row.commit.id for row in collecting.commits_of(tx, record.dataset_id)]
    try:
        with tx.begin_nested():
            collecting.delete_dataset(tx, record.dataset_id)
    except IntegrityError:
        logger.warning("dataset_not_purged dataset=%s reason=something names one of its commits", record.dataset_id)
        return
    promised_pages.doom(tx, project_id, (keys.commit(commit_id) for commit_id in commit_ids), record.at)
    promised_pages.doom(tx, project_id, written, record.at)
