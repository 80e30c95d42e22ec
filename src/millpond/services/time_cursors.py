"""Cursors of lists that are sorted by time: the moment and id of the last item shown."""

from __future__ import annotations

from datetime import UTC, datetime

from millpond.errors import BadRequest
from millpond.services.listing import decode


def written_moment(moment: datetime, item_id: str) -> list[str | int]:
    """The sort key of an item, as `listing.page_of` takes it."""
    return [moment.isoformat(), item_id]


def moment_of(cursor: str | None) -> tuple[datetime, str] | None:
    """The moment and id behind a cursor; None without one."""
    if cursor is None:
        return None
    match decode(cursor):
        case [str(text), str(item_id)] if (moment := _moment(text)) is not None:
            return moment, item_id
    raise BadRequest(f"{cursor[:80]!r} is not a cursor.", hint="Use `next` of the previous page, or leave it out.")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
