"""How long audit entries are kept: for ever, unless a site administrator sets a rule. Its removals are entries, too."""

from __future__ import annotations

from datetime import datetime, timedelta

from millpond.db import audit as rows
from millpond.errors import BadRequest
from millpond.model.people import SYSTEM, Actor
from millpond.model.quantity import DAY
from millpond.services.deps import Deps
from millpond.services.people import audit

# Nobody hides what they did today by a rule that they set today.
LEAST_SECONDS = 30 * DAY
MOST_SECONDS = 100 * 365 * DAY
_AT_ONCE = 10_000


def keep_seconds(deps: Deps) -> int | None:
    """None: for ever."""
    with deps.db.read() as tx:
        return rows.keep_seconds(tx)


def set_keep_seconds(deps: Deps, actor: Actor, seconds: int | None) -> int | None:
    """From the next round on, what is older goes. BadRequest for a rule under 30 days."""
    if seconds is not None and not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise BadRequest(
            "Audit entries are kept for at least 30d.", hint="For example: mill audit retention set 400d, or: never"
        )
    with deps.db.write() as tx:
        before = rows.keep_seconds(tx)
        rows.set_keep_seconds(tx, seconds)
        audit.record(
            tx, now=deps.clock.now(), actor=actor, action="audit.retention", subject="audit",
            before={"keep_seconds": before}, after={"keep_seconds": seconds},
        )  # fmt: skip
    return seconds


def remove_due(deps: Deps, now: datetime) -> int:
    """Housekeeping: remove what the rule no longer keeps. Each batch is recorded in the transaction that removes it."""
    seconds = keep_seconds(deps)
    if seconds is None:
        return 0
    before, count = now - timedelta(seconds=seconds), 0
    while True:
        with deps.db.write() as tx:
            removed = rows.remove_due(tx, before, limit=_AT_ONCE)
            if removed:
                audit.record(
                    tx, now=now, actor=SYSTEM, action="audit.expire", subject="audit",
                    details={"removed": removed, "before": before.isoformat(), "keep_seconds": seconds},
                )  # fmt: skip
        count += removed
        if removed < _AT_ONCE:
            return count
