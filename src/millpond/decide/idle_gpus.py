"""Finds jobs that hold GPUs without using them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

IDLE_AFTER = timedelta(minutes=5)
# What a GPU shows whose memory is held while nothing computes on it stays below this.
BUSY_PERCENT = 1.0


@dataclass(frozen=True, slots=True)
class GpuUse:
    """GPUs of a running job. `peak_percent`: highest use within the last `IDLE_AFTER`; None if not measured."""

    job_id: str
    running_since: datetime
    peak_percent: float | None


def idle_jobs(uses: Iterable[GpuUse], now: datetime) -> Sequence[str]:
    """Jobs that ran for `IDLE_AFTER` with no measured use of their GPUs."""
    return [use.job_id for use in uses if _is_idle(use, now)]


def _is_idle(use: GpuUse, now: datetime) -> bool:
    if use.peak_percent is None or now - use.running_since < IDLE_AFTER:
        return False
    return use.peak_percent < BUSY_PERCENT
