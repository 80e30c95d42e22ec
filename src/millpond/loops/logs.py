"""Where several servers share one database, each brings the ends of logs it has to where the others find them."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.runs import logs

# So much later a log is seen through another server than the one its agent talks to.
_SECONDS = 5.0


def loops(deps: Deps) -> Sequence[Loop]:
    """None with SQLite: there is one server, and it has everything."""
    return [] if deps.db.is_sqlite else [Loop("logs", "logs", _SECONDS, lambda now: logs.share_tails(deps))]
