"""Limits of links and sites as they are shown: with what is in force now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.decide.rate_limits import in_force
from millpond.model.rate_limit import LimitWindow, RateLimit


@dataclass(frozen=True, slots=True)
class LimitView:
    """A limit in words, and what is in force of it now: None for no limit."""

    windows: Sequence[LimitWindow]
    text: str
    bits_per_second: int | None
    until: datetime | None
    in_force: str


def limit_view(limit: RateLimit | None, now: datetime) -> LimitView | None:
    if limit is None:
        return None
    found = in_force(limit, now)
    return LimitView(limit.windows, str(limit), found.bits_per_second, found.until, str(found))
