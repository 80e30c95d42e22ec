"""Commits as canonical documents whose digest is their id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.digests import check_id, id_of
from millpond.lake.documents import FORMAT, decode_document, decode_time, encode_document, encode_time
from millpond.model.dataset import Commit
from millpond.model.ids import is_digest

_KEYS = {"author", "bytes", "dataset", "files", "format", "lineage", "message", "parents", "time", "tree"}


def new_commit(
    *,
    dataset_id: str,
    tree: str,
    parents: Sequence[str],
    author: str,
    time: datetime,
    message: str,
    files: int,
    bytes: int,
    lineage: Mapping[str, Any] | None = None,
) -> Commit:
    """A commit with its id."""
    commit = Commit(
        id="",
        dataset_id=dataset_id,
        tree=tree,
        parents=tuple(parents),
        author=author,
        time=time,
        message=message,
        files=files,
        bytes=bytes,
        lineage=dict(lineage or {}),
    )
    return replace(commit, id=id_of(encode_commit(commit)))


def encode_commit(commit: Commit) -> bytes:
    """The canonical document; the commit's own id is not part of it."""
    return encode_document(
        {
            "author": commit.author,
            "bytes": commit.bytes,
            "dataset": commit.dataset_id,
            "files": commit.files,
            "format": FORMAT,
            "lineage": dict(commit.lineage),
            "message": commit.message,
            "parents": list(commit.parents),
            "time": encode_time(commit.time),
            "tree": commit.tree,
        }
    )


def decode_commit(data: Buffer, commit_id: str | None = None) -> Commit:
    """BadFormat unless `data` is a commit; Corrupt unless it is `commit_id`, where that is given."""
    if commit_id is not None:
        check_id(commit_id, data, "commit")
    document = decode_document(data, "commit")
    _check_shape(document)
    return Commit(
        id=id_of(data),
        dataset_id=document["dataset"],
        tree=document["tree"],
        parents=tuple(document["parents"]),
        author=document["author"],
        time=decode_time(document["time"]),
        message=document["message"],
        files=document["files"],
        bytes=document["bytes"],
        lineage=document["lineage"],
    )


def _check_shape(document: Mapping[str, Any]) -> None:
    texts = all(isinstance(document.get(key), str) for key in ("author", "dataset", "message", "time", "tree"))
    counts = all(type(document.get(key)) is int and document[key] >= 0 for key in ("files", "bytes"))
    parents = document.get("parents")
    ids = [document.get("tree"), *(parents if isinstance(parents, list) else [None])]
    if (
        set(document) != _KEYS
        or not (texts and counts)
        or not isinstance(document["lineage"], dict)
        or not all(isinstance(part, str) and is_digest(part) for part in ids)
    ):
        raise BadFormat("This commit does not have the right shape.")
