"""The loops over triggers of flows: one notices commits, one looks at the time and starts what was noticed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from millpond.loops.runner import Loop
from millpond.services.caches.policies import TOPIC as BRANCHES
from millpond.services.deps import Deps
from millpond.services.flows.triggers import backfills, firing, noticing

# What another server has committed, noticed or left behind is seen so soon.
_SECONDS = 2.0


def loops(deps: Deps) -> Sequence[Loop]:
    return [
        Loop("commit triggers", BRANCHES, _SECONDS, partial(notice_commits, deps)),
        Loop("triggers", firing.TOPIC, _SECONDS, partial(fire, deps)),
    ]


def notice_commits(deps: Deps, now: datetime) -> None:
    if noticing.notice_commits(deps, now):
        deps.events.wake(firing.TOPIC)


def fire(deps: Deps, now: datetime) -> None:
    """Everything that is due, however many there are."""
    noticing.notice_times(deps, now)
    while firing.start_due(deps, now) == firing.AT_ONCE:
        pass
    backfills.advance_all(deps, now)
