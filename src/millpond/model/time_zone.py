"""Time zones by their names, as people write them: `Europe/Berlin`."""

from __future__ import annotations

import difflib
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from millpond.errors import BadRequest


def check_zone(name: str) -> None:
    """BadRequest, naming the nearest, for a time zone that nobody knows."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        near = difflib.get_close_matches(name, _zones(), n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}?" if near else "Write one like 'Europe/Berlin' or 'UTC'."
        raise BadRequest(f"{name!r} is not a known time zone.", hint=hint) from None


@cache
def _zones() -> tuple[str, ...]:
    return tuple(sorted(available_timezones()))
