"""The loops over notifications: one tells people, some deliver, one looks for what is wrong and stays so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.notifications import delivering, telling, watching
from millpond.services.notifications.topics import DELIVERIES, NOTICES

_HOUR = 3600.0


def loops(deps: Deps) -> Sequence[Loop]:
    """Deliveries are claimed, and so sent by every server: several at once, so that a slow one holds few others up."""
    return [
        Loop("notices", NOTICES, telling.SECONDS, partial(telling.tell_all, deps), spacing=0.2, once=True),
        *(
            Loop(f"deliveries {n}", DELIVERIES, delivering.SECONDS, partial(delivering.send_due, deps))
            for n in (1, 2, 3)
        ),
        Loop("alarms", "alarms", watching.SECONDS, partial(watching.look, deps), once=True),
        Loop("old notifications", "old notifications", _HOUR, partial(delivering.forget_old, deps), once=True),
    ]
