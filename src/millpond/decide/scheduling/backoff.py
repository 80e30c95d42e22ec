"""How long a job that was preempted often stays within its project's quota (docs/design/014, o)."""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 3600.0
LONGEST = 600.0


def over_quota_from(preempted: Sequence[float], now: float) -> float:
    """When it may use capacity beyond the quota again: n preemptions within an hour cost min(2ⁿ s, 10 min)."""
    recent = [moment for moment in preempted if now - moment < WINDOW]
    return max(recent) + min(2.0 ** len(recent), LONGEST) if recent else 0.0
