"""Commits, records and their canonical form."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, Corrupt
from millpond.lake import keys
from millpond.lake.commits import decode_commit, encode_commit, new_commit
from millpond.lake.digests import id_of
from millpond.lake.documents import decode_time, encode_document, encode_time
from millpond.lake.records import (
    Create,
    DatasetRecord,
    Delete,
    Move,
    Operation,
    OwnerRecord,
    Rename,
    Restore,
    decode_lake,
    decode_owner,
    decode_record,
    encode_lake,
    encode_owner,
    encode_record,
)
from millpond.model.dataset import Commit, DatasetKind, RefType

NOW = datetime(2026, 11, 15, 20, 0, 0, 120, tzinfo=UTC)


def a_commit(**values: object) -> Commit:
    given: dict[str, object] = {
        "dataset_id": "d1", "tree": id_of(b"tree"), "parents": [id_of(b"parent")], "author": "maria", "time": NOW,
        "message": "Première version 🎉", "files": 3, "bytes": 9, "lineage": {"job": "j1", "inputs": []},
    }  # fmt: skip
    return new_commit(**(given | values))  # type: ignore[arg-type]


def test_a_commit_comes_back() -> None:
    commit = a_commit()
    data = encode_commit(commit)
    assert decode_commit(data, commit.id) == commit
    assert commit.id == id_of(data)
    assert "Première" in data.decode()


def test_a_commit_must_match_its_id() -> None:
    with pytest.raises(Corrupt):
        decode_commit(encode_commit(a_commit(message="other")), a_commit().id)


@pytest.mark.parametrize(
    "change",
    [{"tree": "x"}, {"files": -1}, {"files": True}, {"parents": ["x"]}, {"parents": None}, {"message": 3},
     {"lineage": []}, {"time": "2026-11-15"}, {"more": 1}, {"format": 2}],
)  # fmt: skip
def test_a_commit_of_another_shape_is_refused(change: dict[str, object]) -> None:
    document = json.loads(encode_commit(a_commit())) | change
    with pytest.raises(BadFormat):
        decode_commit(encode_document(document))


def test_only_canonical_json_is_read() -> None:
    document = json.loads(encode_commit(a_commit()))
    for text in (json.dumps(document), json.dumps(document, sort_keys=True, separators=(",", ":")), "{", "[]"):
        with pytest.raises(BadFormat):
            decode_commit(text.encode())


def test_floats_and_broken_text_do_not_get_into_the_lake() -> None:
    for lineage in ({"accuracy": 0.5}, {"deep": [{"x": 1.0}]}, {"text": "\udc80"}):
        with pytest.raises(BadFormat):
            a_commit(lineage=lineage)


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=5)))))
def test_times_come_back_in_utc(time: datetime) -> None:
    if time.year in (1, 9999):
        return
    assert decode_time(encode_time(time)) == time
    assert len(encode_time(time)) == 27


OPERATIONS: list[Operation] = [
    Create(name="xray", project="default", kind=DatasetKind.DATA),
    Rename(name="xray-2"),
    Delete(),
    Restore(),
    Move(ref="main", type=RefType.BRANCH, commit=id_of(b"c"), previous=None),
    Move(ref="v1", type=RefType.TAG, commit=None, previous=id_of(b"c")),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: type(operation).__name__)
def test_a_record_comes_back(operation: Operation) -> None:
    record = DatasetRecord(dataset_id="d1", number=7, at=NOW, by="maria", operation=operation)
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize("change", [{"op": "explode"}, {"op": "create"}, {"n": None, "extra": 1}, {"at": 3}])
def test_a_record_of_another_shape_is_refused(change: dict[str, object]) -> None:
    record = DatasetRecord(dataset_id="d1", number=7, at=NOW, by="maria", operation=Delete())
    with pytest.raises(BadFormat):
        decode_record(encode_document(json.loads(encode_record(record)) | change))


def test_owner_and_lake_come_back() -> None:
    owner = OwnerRecord(database="db1", taken_at=NOW)
    assert decode_owner(encode_owner(owner)) == owner
    assert decode_lake(encode_lake("lake1")) == "lake1"


def test_keys() -> None:
    project = keys.ProjectKeys("p1")
    assert project.pack("abcd") == "projects/p1/packs/ab/abcd"
    assert project.page("abcd") == "projects/p1/pages/ab/abcd"
    assert project.locator("abcd") == "projects/p1/locators/ab/abcd"
    assert project.commit("abcd") == "projects/p1/commits/ab/abcd"
    assert project.record("d1", 12) == "projects/p1/datasets/d1/000000000012"
    assert keys.record_number(project.record("d1", 12)) == 12
    assert keys.owner(0) == "owner/000000000000"


@pytest.mark.parametrize("bad", ["", "../x", "a/b", "A", "x" * 65])
def test_keys_are_made_of_ids_only(bad: str) -> None:
    with pytest.raises(BadFormat):
        keys.ProjectKeys(bad)
    with pytest.raises(BadFormat):
        keys.ProjectKeys("p").pack(bad)
