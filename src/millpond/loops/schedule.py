"""The scheduler's loop: woken whenever a job, a node or a cached commit changed, and every few seconds besides."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.loops.runner import Loop
from millpond.services.deps import Deps
from millpond.services.jobs import schedule

# Wakes say what changed in this process; this is for what only the passing of time, or another server, changes.
_SECONDS = 2.0
# Five hundred jobs submitted one after the other are planned in a few rounds, and one alone at once.
_SPACING = 0.05


def loops(deps: Deps) -> Sequence[Loop]:
    return [Loop("schedule", "schedule", _SECONDS, lambda now: schedule.run_once(deps, now), _SPACING)]
