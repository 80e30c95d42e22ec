"""Labels that become known later, committed beside the request log and found by the ids of requests."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blake3 import blake3

from millpond.client.edits import put_files
from millpond.client.http import Api
from millpond.client.monitoring.logged import LABELS, log_place
from millpond.client.monitoring.tables import rows, write_parquet
from millpond.errors import BadRequest
from millpond.model.quantity import format_count
from millpond.serve.monitoring.tables import Row, is_table
from millpond.wire.data import Commit
from millpond.wire.endpoints import Endpoint

ID, LABEL = "request_id", "label"


def add_labels(api: Api, endpoint: Endpoint, file: Path) -> tuple[Commit, int]:
    """Commit the labels of a table with the columns `request_id` and `label`; other columns are kept. How many."""
    name, branch = log_place(endpoint)
    found = list(_read(file))
    if not found:
        raise BadRequest(f"{file} has no labels.")
    content = io.BytesIO()
    write_parquet({column: [row.get(column) for row in found] for column in found[0]}, content)
    now = datetime.now(UTC)
    # The moment comes first: of two labels for a request the newer file is read last, and counts.
    path = f"{LABELS}/{now:%Y-%m-%d}/{now:%H%M%S.%f}-{blake3(content.getvalue()).hexdigest()[:16]}.parquet"
    content.seek(0)
    message = f"Add {format_count(len(found), 'label')} for requests of endpoint {endpoint.name}"
    commit = put_files(api, endpoint.project, name, {path: content}, branch=branch, message=message)
    return commit, len(found)


def _read(file: Path) -> Iterator[Row]:
    if not is_table(str(file)):
        raise BadRequest(f"{file} is no table.", hint="Give a .csv, .parquet or .jsonl file.")
    try:
        opened = file.open("rb")
    except OSError as error:
        raise BadRequest(f"Cannot read {file}: {error.strerror}.") from error
    with opened:
        for number, row in enumerate(rows(opened, str(file), texts=[ID]), 1):
            yield _checked(row, number, file)


def _checked(row: dict[str, Any], number: int, file: Path) -> Row:
    if missing := [column for column in (ID, LABEL) if column not in row]:
        raise BadRequest(
            f"{file} has no column {missing[0]!r}; it has {', '.join(row) or 'none'}.",
            hint=f"Name the columns {ID} and {LABEL}; the id is the header mill-request-id of an answer.",
        )
    if not isinstance(row[ID], str) or not row[ID]:
        raise BadRequest(f"Row {number} of {file} has no {ID}, or one that is not text.")
    return row
