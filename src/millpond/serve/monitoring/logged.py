"""The request log of an endpoint as it was committed: its rows within a window of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .tables import Row, is_table, rows

REQUESTS = "requests"
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

    @classmethod
    def parse(cls, since: str, until: str) -> Window:
        return cls(datetime.fromisoformat(since), datetime.fromisoformat(until))

    def days(self) -> Iterator[str]:
        """Folders of the log: a file lies in that of its first row, which may be of the day before."""
        day = self.since - _DAY
        while day.date() <= self.until.date():
            yield f"{day:%Y-%m-%d}"
            day += _DAY


def asked_for(endpoint: str, window: Window, version: int | None = None) -> Callable[[Row], bool]:
    """True for rows within the window that were answered well, of one version if it is given."""

    def is_asked(row: Row) -> bool:
        is_mine = row.get("endpoint") == endpoint and version in (None, row.get("version"))
        return is_mine and row.get("status") == 200 and window.since <= _moment(row["time"]) < window.until

    return is_asked


def logged_requests(log: Path, endpoint: str, window: Window, *, version: int | None = None) -> Iterator[Row]:
    """Of a log that lies in a folder. What the folder has besides tables is passed over."""
    is_asked = asked_for(endpoint, window, version)
    for day in window.days():
        for path in sorted((log / REQUESTS / day).rglob("*")):
            if path.is_file() and is_table(path.name):
                with path.open("rb") as file:
                    yield from filter(is_asked, rows(file, str(path.relative_to(log))))


def _moment(value: Any) -> datetime:
    """JSON lines have seconds, Parquet has moments."""
    return value if isinstance(value, datetime) else datetime.fromtimestamp(value, UTC)
