"""When a source runs next: on its schedule, or after failures with increasing backoff."""

from __future__ import annotations

from datetime import datetime, timedelta

_FIRST = timedelta(minutes=1)
_LONGEST = timedelta(hours=6)


def next_run(started: datetime, ended: datetime, every: timedelta, failures: int) -> datetime:
    """Never before `ended`; a failed run is tried again no later than the schedule says, or after six hours."""
    if not failures:
        return max(ended, started + every)
    wait = min(_FIRST * (1 << min(failures - 1, 16)), max(every, _FIRST), _LONGEST)
    return ended + wait
