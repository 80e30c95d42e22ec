"""What is tidied up in the background: idle cached commits, sessions that are over, records a crash left behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services import bin, evict, placements, records, runs, sessions, verify
from millpond.services.deps import Deps

_TOPIC = "housekeeping"


def loops(deps: Deps) -> Sequence[Loop]:
    """Each on its own, so that one that fails or waits holds no other back."""
    return [
        Loop("evict", _TOPIC, 10.0, lambda now: evict.evict_all(deps)),
        Loop("sessions", "sessions", 3600.0, lambda now: sessions.expire(deps)),
        Loop("lost runs", "runs", 30.0, partial(runs.mark_lost, deps)),
        Loop("bin", "bin", 600.0, partial(bin.purge, deps)),
        Loop("placement tokens", "tokens", 3600.0, partial(placements.forget_tokens, deps)),
        Loop("records", "records", 30.0, lambda now: records.finish_pending(deps, older_than=records.LEFT_BEHIND)),
        Loop("verify", "verify", 60.0, lambda now: verify.verify_some(deps)),
    ]
