"""Rows of request logs, as they are committed."""

from __future__ import annotations

import io
import json

from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from millpond.services.endpoints.request_rows import file_of, lines_by_endpoint, rows_of

ROW = {
    "id": "a1",
    "time": 1795007544.25,
    "endpoint": "xray",
    "model": "chest-xray",
    "version": 3,
    "protocol": "http",
    "status": 200,
    "ms": 1.25,
    "token": None,
    "bytes_in": 10,
    "bytes_out": 20,
    "request": {"inputs": [{"name": "x", "data": [1]}]},
}


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_rows_become_parquet_with_types_and_the_same_bytes_each_time() -> None:
    rows = rows_of(lines(ROW, {**ROW, "id": "a2", "status": 500}))
    path, content = file_of(rows, "f" * 64)
    assert path == f"requests/2026-11-18/131224-{'f' * 16}.parquet"
    assert file_of(rows, "f" * 64) == (path, content)
    table = parquet.read_table(io.BytesIO(content))
    first = table.to_pylist()[0]
    assert first["time"].timestamp() == ROW["time"] and table.schema.field("version").type == "int64"
    assert first["id"] == "a1" and json.loads(first["request"]) == ROW["request"] and first["response"] is None
    assert table.column("status").to_pylist() == [200, 500]


def test_rows_are_told_apart_by_endpoint_and_what_is_none_is_skipped() -> None:
    content = lines(ROW, {**ROW, "endpoint": "other"}, [], {"id": 1}, {**ROW, "time": "now"}) + b'{"id":'
    found = lines_by_endpoint(content)
    assert {name: len(one) for name, one in found.items()} == {"xray": 1, "other": 1}


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda one: st.lists(one))


@given(st.dictionaries(st.sampled_from(sorted(ROW)), JSON))
def test_values_of_any_type_make_a_file(odd: dict[str, object]) -> None:
    rows = rows_of(lines(ROW, {**ROW, **odd}))
    assert rows and file_of(rows, "0" * 64)[1]
