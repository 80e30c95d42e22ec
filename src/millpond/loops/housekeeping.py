"""What is tidied up in the background: idle cached commits, sessions that are over, records a crash left behind."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.loops.runner import Loop
from millpond.services import evict, records, sessions
from millpond.services.deps import Deps

_TOPIC = "housekeeping"


def loops(deps: Deps) -> Sequence[Loop]:
    """Each on its own, so that one that fails or waits holds no other back."""
    return [
        Loop("evict", _TOPIC, 10.0, lambda now: evict.evict_all(deps)),
        Loop("sessions", "sessions", 3600.0, lambda now: sessions.expire(deps)),
        Loop("records", "records", 30.0, lambda now: records.finish_pending(deps, older_than=records.LEFT_BEHIND)),
    ]
