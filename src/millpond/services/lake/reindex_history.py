"""The history of a dataset as its records in the lake tell it; what is missing or damaged is said and passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from millpond.blobs.store import BlobStore
from millpond.decide.epochs import Numbered, in_force
from millpond.errors import BadFormat, NotFound
from millpond.lake.keys import ProjectKeys, is_id, is_record, record_epoch, record_number
from millpond.lake.records import Create, DatasetRecord, Delete, Move, Purge, Rename, Restore, decode_record
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
    """A dataset after all its records.

    `is_damaged` if some of them are lost: other commits may be whole, though no ref is known to lead to them. A dataset
    that was `purged` does not come back. One whose first record is lost has no project's name, and `is_nameless` if no
    other record gives it one.
    """

    dataset: Dataset
    next_record: int
    deleted_at: datetime | None = None
    refs: dict[str, RefHistory] = field(default_factory=dict)
    is_damaged: bool = False
    is_nameless: bool = False
    purged: bool = False

    @property
    def commit_ids(self) -> list[str]:
        """Every commit that a ref has ever been at."""
        return [commit for ref in self.refs.values() for commit in ref.commits if commit is not None]


def read_histories(store: BlobStore, project_id: str, say: Say) -> Iterator[History]:
    """Every dataset of a project, also those that were purged."""
    keys = ProjectKeys(project_id)
    for dataset_id, group in groupby(_records(store, keys.datasets, say), key=lambda key: key.split("/")[-2]):
        history = _history(store, project_id, dataset_id, list(group), say)
        if history is not None:
            yield history


def read_history(store: BlobStore, project_id: str, dataset_id: str, say: Say) -> History | None:
    """One dataset; None if none of its records can be read."""
    found = list(_records(store, ProjectKeys(project_id).records(dataset_id), say))
    return _history(store, project_id, dataset_id, found, say)


def numbered(key: str) -> Numbered:
    return Numbered(record_number(key), record_epoch(key), key)


def _history(store: BlobStore, project_id: str, dataset_id: str, keys: Sequence[str], say: Say) -> History | None:
    found = in_force(map(numbered, keys))
    for record in found.ignored:
        say(f"record {record.key} is ignored: its server no longer owned the lake")
    records = list(_read(store, dataset_id, found.kept, say))
    # Numbers of records that cannot be read are taken, too: nothing is ever written over them.
    return replay(project_id, records, found.kept[-1].number + 1, say) if records else None


def replay(project_id: str, records: Sequence[DatasetRecord], next_record: int, say: Say) -> History:
    """The dataset these records make."""
    first = records[0]
    history = History(_made(project_id, first), next_record, is_nameless=not isinstance(first.operation, Create))
    going = isinstance(records[-1].operation, Purge)
    expected = 0
    for record in records:
        if record.number != expected and not going:  # of one that is being removed, records are missing
            history = replace(history, is_damaged=True)
            say(f"dataset {record.dataset_id}: {_missing(expected, record.number - 1)}")
        expected = record.number + 1
        history = _applied(history, record)
    return replace(history, is_damaged=history.is_damaged or expected != next_record)


def _missing(first: int, last: int) -> str:
    return f"record {first} is missing" if first == last else f"records {first} to {last} are missing"


def _records(store: BlobStore, prefix: str, say: Say) -> Iterator[str]:
    for info in store.list(prefix):
        if is_record(info.key) and is_id(info.key.split("/")[-2]):
            yield info.key
        else:
            say(f"{info.key} is not part of the lake format and stays as it is")


def _read(store: BlobStore, dataset_id: str, found: Sequence[Numbered], say: Say) -> Iterator[DatasetRecord]:
    for item in found:
        try:
            record = decode_record(store.get(item.key))
            if (record.dataset_id, record.number, record.epoch) != (dataset_id, item.number, item.epoch):
                raise BadFormat("It belongs elsewhere.")
        except (BadFormat, NotFound) as error:
            say(f"record {item.key} cannot be read: {error}")
            continue
        yield record


def _made(project_id: str, record: DatasetRecord) -> Dataset:
    """As its first record made it; without that, under a name that says so."""
    made = record.operation if isinstance(record.operation, Create) else None
    return Dataset(
        id=record.dataset_id,
        project_id=project_id,
        project=made.project if made else "",
        name=made.name if made else f"lost-name-{record.dataset_id[:8]}",
        kind=DatasetKind(made.kind) if made else DatasetKind.DATA,
        description="",
        created_at=record.at,
        created_by=record.by,
        active_at=record.at,
    )


def _applied(history: History, record: DatasetRecord) -> History:
    history = replace(history, purged=isinstance(record.operation, Purge))
    match record.operation:
        case Rename(name=name):
            dataset = replace(history.dataset, name=name, active_at=record.at)
            return replace(history, dataset=dataset, is_nameless=False)
        case Delete():
            return replace(history, deleted_at=record.at)
        case Restore():
            return replace(history, deleted_at=None)
        case Move(ref=name, type=type_, commit=commit):
            before = history.refs.get(name)
            commits = (*(before.commits if before else ()), commit)
            refs = {**history.refs, name: RefHistory(name, type_, commits, record.at)}
            return replace(history, dataset=replace(history.dataset, active_at=record.at), refs=refs)
        case Create() | Purge():
            return history
