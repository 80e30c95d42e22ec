"""The history of a dataset as its records in the lake tell it; what is missing or damaged is said and passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from millpond.blobs.store import BlobStore
from millpond.errors import BadFormat, NotFound
from millpond.lake.keys import ProjectKeys, record_number
from millpond.lake.records import Create, DatasetRecord, Delete, Move, Rename, Restore, decode_record
from millpond.model.dataset import Dataset, DatasetKind, RefType

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RefHistory:
    """Where a ref has been, oldest first; None stands for its removal."""

    name: str
    type: RefType
    commits: tuple[str | None, ...]
    moved_at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """A dataset after all its records."""

    dataset: Dataset
    next_record: int
    deleted_at: datetime | None = None
    refs: dict[str, RefHistory] = field(default_factory=dict)


def read_histories(store: BlobStore, project_id: str, say: Say) -> Iterator[History]:
    """Every dataset of a project."""
    keys = ProjectKeys(project_id)
    found = (info.key for info in store.list(keys.datasets))
    for dataset_id, group in groupby(found, key=lambda key: key.split("/")[-2]):
        records = list(_read(store, dataset_id, list(group), say))
        history = replay(project_id, dataset_id, records, say)
        if history is not None:
            yield history


def replay(project_id: str, dataset_id: str, records: Sequence[DatasetRecord], say: Say) -> History | None:
    """The dataset these records make; None if the first one, which names it, is not among them."""
    if not records or not isinstance(records[0].operation, Create):
        say(f"dataset {dataset_id}: the record that made it is gone; it was being removed, or the lake is damaged")
        return None
    made = _made(project_id, records[0], records[0].operation)
    history = History(made, next_record=records[-1].number + 1)
    expected = 0
    for record in records:
        if record.number != expected:
            say(f"dataset {made.written}: records {expected} to {record.number - 1} are missing")
        expected = record.number + 1
        history = _applied(history, record)
    return history


def _read(store: BlobStore, dataset_id: str, keys: Sequence[str], say: Say) -> Iterator[DatasetRecord]:
    for key in keys:
        try:
            record = decode_record(store.get(key))
            if record.dataset_id != dataset_id or record.number != record_number(key):
                raise BadFormat("It belongs somewhere else.")
        except (BadFormat, NotFound, ValueError) as error:
            say(f"record {key} cannot be read: {error}")
            continue
        yield record


def _made(project_id: str, record: DatasetRecord, operation: Create) -> Dataset:
    return Dataset(
        id=record.dataset_id,
        project_id=project_id,
        project=operation.project,
        name=operation.name,
        kind=DatasetKind(operation.kind),
        description="",
        created_at=record.at,
        created_by=record.by,
        active_at=record.at,
    )


def _applied(history: History, record: DatasetRecord) -> History:
    match record.operation:
        case Rename(name=name):
            return replace(history, dataset=replace(history.dataset, name=name, active_at=record.at))
        case Delete():
            return replace(history, deleted_at=record.at)
        case Restore():
            return replace(history, deleted_at=None)
        case Move(ref=name, type=type_, commit=commit):
            before = history.refs.get(name)
            commits = (*(before.commits if before else ()), commit)
            refs = {**history.refs, name: RefHistory(name, type_, commits, record.at)}
            return replace(history, dataset=replace(history.dataset, active_at=record.at), refs=refs)
        case Create():
            return history
