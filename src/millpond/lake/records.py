"""Numbered records: the history of each dataset's name and refs, and who owns the lake."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.documents import FORMAT, decode_document, decode_time, encode_document, encode_time
from millpond.model.dataset import DatasetKind, RefType
from millpond.model.ids import is_digest


@dataclass(frozen=True, slots=True)
class Create:
    name: str
    project: str
    kind: DatasetKind


@dataclass(frozen=True, slots=True)
class Rename:
    name: str


@dataclass(frozen=True, slots=True)
class Delete:
    pass


@dataclass(frozen=True, slots=True)
class Restore:
    pass


@dataclass(frozen=True, slots=True)
class Move:
    """A ref made (`previous` None), moved, or removed (`commit` None)."""

    ref: str
    type: RefType
    commit: str | None
    previous: str | None


@dataclass(frozen=True, slots=True)
class Purge:
    """Nothing of the dataset is to come back. Written before the first of its objects goes, removed after the last.

    A later record takes it back: then it could not be purged after all.
    """


Operation = Create | Rename | Delete | Restore | Move | Purge


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """Record `number` of a dataset's history, written by the owner of the lake in `epoch`."""

    dataset_id: str
    number: int
    at: datetime
    by: str
    operation: Operation
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    database: str
    taken_at: datetime


def encode_record(record: DatasetRecord) -> bytes:
    return encode_document(
        {
            "at": encode_time(record.at),
            "by": record.by,
            "dataset": record.dataset_id,
            "format": FORMAT,
            "n": record.number,
            # Lakes that never changed hands have none: the first owner's records are as they always were.
            **({"epoch": record.epoch} if record.epoch else {}),
            **_encode_operation(record.operation),
        }
    )


def decode_record(data: Buffer) -> DatasetRecord:
    """BadFormat unless `data` is the canonical encoding of a dataset record."""
    document = decode_document(data, "dataset record")
    try:
        record = DatasetRecord(
            dataset_id=_text(document, "dataset"),
            number=document["n"],
            at=decode_time(document["at"]),
            by=_text(document, "by"),
            operation=_decode_operation(document),
            epoch=document.get("epoch", 0),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise BadFormat("This dataset record does not have the right shape.") from error
    if encode_record(record) != bytes(data):
        raise BadFormat("This dataset record holds more than it may.")
    return record


def encode_owner(record: OwnerRecord) -> bytes:
    return encode_document({"database": record.database, "format": FORMAT, "taken_at": encode_time(record.taken_at)})


def decode_owner(data: Buffer) -> OwnerRecord:
    document = decode_document(data, "owner record")
    return OwnerRecord(str(document.get("database")), decode_time(document.get("taken_at")))


def encode_lake(lake_id: str) -> bytes:
    """The content of `millpond.json`."""
    return encode_document({"format": FORMAT, "lake": lake_id})


def decode_lake(data: Buffer) -> str:
    return str(decode_document(data, "lake record").get("lake"))


def _encode_operation(operation: Operation) -> dict[str, Any]:
    match operation:
        case Create():
            return {
                "op": "create", "kind": operation.kind.value, "name": operation.name, "project": operation.project,
            }  # fmt: skip
        case Rename():
            return {"op": "rename", "name": operation.name}
        case Delete():
            return {"op": "delete"}
        case Restore():
            return {"op": "restore"}
        case Purge():
            return {"op": "purge"}
        case Move():
            return {
                "op": "move", "ref": operation.ref, "type": operation.type.value, "commit": operation.commit,
                "previous": operation.previous,
            }  # fmt: skip


def _decode_operation(document: dict[str, Any]) -> Operation:
    match document["op"]:
        case "create":
            return Create(_text(document, "name"), _text(document, "project"), DatasetKind(document["kind"]))
        case "rename":
            return Rename(_text(document, "name"))
        case "delete":
            return Delete()
        case "restore":
            return Restore()
        case "purge":
            return Purge()
        case "move":
            ids = (_id(document, "commit"), _id(document, "previous"))
            return Move(_text(document, "ref"), RefType(document["type"]), *ids)
        case other:
            raise BadFormat(f"{other!r} is not an operation on a dataset.")


def _text(document: dict[str, Any], key: str) -> str:
    value = document[key]
    if not isinstance(value, str):
        raise BadFormat(f"The field {key!r} of this dataset record is not text.")
    return value


def _id(document: dict[str, Any], key: str) -> str | None:
    value = document[key]
    if value is not None and not (isinstance(value, str) and is_digest(value)):
        raise BadFormat(f"The field {key!r} of this dataset record is not the id of a commit.")
    return value
