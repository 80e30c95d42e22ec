"""When a delivery is tried again, when it is given up, and how long what was told is kept."""

from __future__ import annotations

from datetime import datetime, timedelta

_FIRST = timedelta(seconds=30)
_LONGEST = timedelta(hours=1)
GIVEN_UP_AFTER = timedelta(hours=24)
# What was read, what nobody read, deliveries that are over.
READ_KEPT = timedelta(days=30)
UNREAD_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=30)


def next_try(attempts: int, *, created_at: datetime, now: datetime, is_final: bool) -> datetime | None:
    """After so many attempts, the last of which failed just now; None: it is given up.

    30 seconds after the first, then twice as long each time, an hour at most, for a day. `is_final`: the same message
    would be refused again.
    """
    if is_final:
        return None
    at = now + min(_LONGEST, _FIRST * 2 ** min(attempts - 1, 20))
    return at if at - created_at <= GIVEN_UP_AFTER else None
