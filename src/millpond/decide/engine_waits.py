"""How long jobs wait in the queue of an engine like Slurm, after Millpond has given them to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from statistics import median

# What is longer ago tells nothing of the queue now.
SINCE = timedelta(hours=1)
# The newest attempts on each compute that are looked at.
_NEWEST = 10


def engine_waits(
    attempts: Iterable[tuple[str, datetime, datetime | None]], now: datetime
) -> Mapping[str, float]:  # fmt: skip
    """Seconds by compute: the median over its newest attempts. One that has not begun has waited until now.

    `attempts`, the newest first: compute, when it was given to the engine, when it began.
    """
    waits: dict[str, list[float]] = defaultdict(list)
    for compute, given, began in attempts:
        if len(waits[compute]) < _NEWEST:
            waits[compute].append(max(0.0, ((began or now) - given).total_seconds()))
    return {compute: median(found) for compute, found in waits.items()}
