"""Bandwidth from real fills: a moving mean in which small fills count little and tiny ones nothing."""

from __future__ import annotations

# Below this a fill tells of latency, not of bandwidth.
LEAST_BYTES = 1_000_000
# Fewer files than this tell nothing of how many are made in a second.
LEAST_FILES = 100
# A shorter time tells nothing of how fast a fill is, unless much came in it.
LEAST_SECONDS = 5.0
# After so long without a byte nobody knows when a fill ends.
STALLED_SECONDS = 15.0
# A fill of at least this much counts fully.
FULL_BYTES = 64_000_000
# Of a fill that counts fully, in the mean; the first few count as much as each other.
WEIGHT = 0.3


def updated(before: float | None, fetched_bytes: int, seconds: float, *, fills: int) -> float | None:
    """The mean in bytes per second after one more fill; `before` itself if the fill is too small to tell.

    `fills` are those in it so far: the first may have been one of tiny files, and must not stay the measure for long.
    """
    if fetched_bytes < LEAST_BYTES or seconds <= 0:
        return before
    seen = fetched_bytes / seconds
    if before is None:
        return seen
    weight = max(WEIGHT, 1 / (fills + 1)) * min(1.0, fetched_bytes / FULL_BYTES)
    return before + weight * (seen - before)


def expected_seconds(missing_bytes: int, bytes_per_second: float | None) -> float | None:
    """Time to fetch this many bytes; None if the bandwidth is unknown."""
    if missing_bytes <= 0:
        return 0.0
    return missing_bytes / bytes_per_second if bytes_per_second else None


def own_rate(fetched_bytes: int, seconds: float) -> float | None:
    """Bytes per second of a fill itself; None while it is too early to tell."""
    is_meaningful = fetched_bytes >= LEAST_BYTES or (fetched_bytes > 0 and seconds >= LEAST_SECONDS)
    return fetched_bytes / seconds if seconds > 0 and is_meaningful else None


def seconds_left(
    missing_bytes: int,
    *,
    seconds: float,
    fetched_bytes: int,
    bytes_per_second: float | None,
    missing_files: int = 0,
    done_files: int = 0,
    most: float | None = None,
) -> float | None:
    """Time left of a running fill: by what it brought lately once that is meaningful, before that by earlier fills.

    Small files are limited by their number, not their bytes: the slower of the two counts. `most` is the limit that
    people set, in bytes per second; None: none.
    """
    rate = own_rate(fetched_bytes, seconds) or bytes_per_second
    by_bytes = expected_seconds(missing_bytes, min((one for one in (rate, most) if one is not None), default=None))
    by_files = seconds * missing_files / done_files if seconds > 0 and done_files >= LEAST_FILES else None
    return max((known for known in (by_bytes, by_files) if known is not None), default=None)
