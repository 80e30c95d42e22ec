"""The request log of an endpoint, read from the lake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millpond.client.dataset import Dataset
from millpond.client.http import Api
from millpond.client.monitoring.tables import rows
from millpond.errors import BadRequest
from millpond.model.names import DEFAULT_BRANCH
from millpond.serve.monitoring.logged import REQUESTS, Window, asked_for
from millpond.serve.monitoring.tables import Row, is_table
from millpond.wire.endpoints import Endpoint

LABELS = "labels"


def log_place(endpoint: Endpoint) -> tuple[str, str]:
    """Dataset and branch of the endpoint's log. BadRequest if it keeps none."""
    written = (endpoint.spec.get("log") or {}).get("to")
    if not written:
        raise BadRequest(
            f"The request log of endpoint {endpoint.name} is not committed.",
            hint="Say where to in its endpoint.yaml: log: {level: full, to: DATASET@main}",
        )
    name, _, branch = str(written).partition("@")
    return name, branch or DEFAULT_BRANCH


def open_log(api: Api, endpoint: Endpoint) -> Dataset:
    name, branch = log_place(endpoint)
    return Dataset(f"{endpoint.project}/{name}@{branch}", server=api.base_url)


def logged_requests(
    log: Dataset, endpoint: Endpoint, window: Window, *, version: int | None = None
) -> Iterator[Row]:  # fmt: skip
    """Rows of the log within the window that were answered well, of one version if it is given."""
    is_asked = asked_for(endpoint.name, window, version)
    for day in window.days():
        yield from filter(is_asked, table_rows(log, f"{REQUESTS}/{day}/"))


def labels_of(log: Dataset) -> dict[str, Any]:
    """Labels by the ids of requests; of several for one request the newest counts."""
    return {row["request_id"]: row.get("label") for row in table_rows(log, f"{LABELS}/")}


def table_rows(data: Dataset, prefix: str) -> Iterator[Row]:
    for entry in data.files(prefix):
        if is_table(entry.path):
            with data.open(entry.path) as file:
                yield from rows(file, entry.path)
