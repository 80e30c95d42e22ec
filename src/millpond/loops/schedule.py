"""The scheduler's loop: woken whenever a job, a node or a cached commit changed, and every few seconds besides."""

from __future__ import annotations

from datetime import datetime

from millpond.services import schedule
from millpond.services.deps import Deps

TOPIC = "schedule"
# Wakes say what changed in this process; this is for what only the passing of time, or another server, changes.
EVERY_SECONDS = 2.0


def run_once(deps: Deps, now: datetime) -> None:
    schedule.run_once(deps, now)
