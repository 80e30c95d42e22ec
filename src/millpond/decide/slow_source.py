"""Decides whether a fill should leave the source that was chosen for it, because it is much slower than expected."""

from __future__ import annotations

from millpond.model.quantity import format_rate

# So much slower than expected counts as wrong.
FACTOR = 3.0
# Before that, a rate tells more of the first connection than of the line.
LEAST_SECONDS = 3.0


def why_too_slow(
    received_bytes: int, seconds: float, *, expected: float | None, lake: float | None = None
) -> str | None:
    """The reason to fetch the rest from the lake; None to go on. Rates are in bytes per second, None if unknown."""
    if expected is None or seconds < LEAST_SECONDS:
        return None
    rate = received_bytes / seconds
    if rate * FACTOR >= expected or (lake is not None and rate >= lake):
        return None
    return f"{format_rate(rate)} came, {format_rate(expected)} were expected"
