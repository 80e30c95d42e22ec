"""How values are printed: short for people, plain for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

from millpond.cli.report import printable
from millpond.model.quantity import format_bytes, format_seconds

_AGO = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


class Bytes(NamedTuple):
    """A size: `32.4 MB` for people, the plain number for programs."""

    number: int


class Seconds(NamedTuple):
    """A length of time: `3 m 20 s` for people, the plain number for programs."""

    number: float


class CommitId(NamedTuple):
    """A commit: its first digits for people, all of it for programs."""

    id: str


def ago(moment: datetime, now: datetime | None = None) -> str:
    """`5 m ago`, `in 3 h`, or the date in the viewer's zone once that is easier to grasp."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    if abs(seconds) >= 14 * 86_400:
        return f"{moment.astimezone():%Y-%m-%d}"
    size, unit = next((size, unit) for size, unit in _AGO if abs(seconds) >= size)
    return f"{int(seconds // size)} {unit} ago" if seconds > 0 else f"in {int(-seconds // size)} {unit}"


def one_line(text: str) -> str:
    """A name or path from anybody, so that it neither ends its line nor moves a terminal's cursor."""
    return printable(text.replace("\t", "\\t").replace("\n", "\\n"))


def human(value: Any) -> str:
    if isinstance(value, Bytes):
        return format_bytes(value.number)
    if isinstance(value, Seconds):
        return format_seconds(value.number)
    if isinstance(value, CommitId):
        return value.id[:12]
    if isinstance(value, datetime):
        return ago(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(" ".join(_word(value).split()))


def plain(value: Any) -> str:
    if isinstance(value, (Bytes, Seconds)):
        return str(value.number)
    if isinstance(value, CommitId):
        return value.id
    if isinstance(value, datetime):
        return value.isoformat()
    return one_line(_word(value))


def _word(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return ", ".join(_word(part) for part in value)
    return str(value)
