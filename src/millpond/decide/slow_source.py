"""Decides whether a fill should leave the source that was chosen for it, because it is much slower than expected."""

from __future__ import annotations

from millpond.model.quantity import format_rate, format_seconds

# So much slower than expected counts as wrong.
FACTOR = 3.0
# Before that, a rate tells more of the first connection than of the line.
LEAST_SECONDS = 3.0
# A source of which nobody knows how fast it should be is left when less than this came for so long; one that is slowed
# down by a limit, when nothing did.
SILENT_SECONDS = 10.0
LEAST_BYTES_PER_SECOND = 100_000.0


def why_too_slow(
    received_bytes: int, seconds: float, *, expected: float | None, lake: float | None = None, is_limited: bool = False
) -> str | None:
    """The reason to fetch the rest from the lake; None to go on. Rates are in bytes per second, None if unknown.

    `received_bytes` came in the last `seconds`.
    """
    if seconds < (SILENT_SECONDS if is_limited or expected is None else LEAST_SECONDS):
        return None
    if received_bytes <= 0:
        return f"nothing came for {format_seconds(seconds)}"
    if is_limited:
        return None
    rate = received_bytes / seconds
    least = LEAST_BYTES_PER_SECOND if expected is None else expected / FACTOR
    if rate >= least or (lake is not None and rate >= lake):
        return None
    return f"{format_rate(rate)} came" + (f", {format_rate(expected)} were expected" if expected else "")
