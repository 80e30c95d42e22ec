"""The request log of an endpoint as it was committed: its rows within a window of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from millpond.client.dataset import Dataset
from millpond.client.http import Api
from millpond.client.monitoring.tables import Row, is_table, rows
from millpond.errors import BadRequest
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.endpoints import Endpoint

REQUESTS = "requests"
LABELS = "labels"
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Window:
    """From `since` up to `until`, which is not part of it."""

    since: datetime
    until: datetime

    @classmethod
    def last(cls, seconds: int) -> Window:
        now = datetime.now(UTC)
        return cls(now - timedelta(seconds=seconds), now)

    def days(self) -> Iterator[str]:
        """Folders of the log: a file lies in that of its first row, which may be of the day before."""
        day = self.since - _DAY
        while day.date() <= self.until.date():
            yield f"{day:%Y-%m-%d}"
            day += _DAY


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
    for day in window.days():
        for row in _table_rows(log, f"{REQUESTS}/{day}/"):
            is_asked = row.get("endpoint") == endpoint.name and version in (None, row.get("version"))
            if is_asked and row.get("status") == 200 and window.since <= _moment(row["time"]) < window.until:
                yield row


def labels_of(log: Dataset) -> dict[str, Any]:
    """Labels by the ids of requests; of several for one request the newest counts."""
    return {row["request_id"]: row.get("label") for row in _table_rows(log, f"{LABELS}/")}


def _table_rows(log: Dataset, prefix: str) -> Iterator[Row]:
    for entry in log.files(prefix):
        if is_table(entry.path):
            with log.open(entry.path) as file:
                yield from rows(file, entry.path)


def _moment(value: Any) -> datetime:
    """JSON lines have seconds, Parquet has moments."""
    return value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
