"""How fast fills may be: what people set for a link or a site, and how they write it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millpond.errors import BadRequest
from millpond.model.quantity import format_bandwidth

DAY_MINUTES = 24 * 60
_TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-4]):([0-5][0-9])")


@dataclass(frozen=True, slots=True)
class LimitWindow:
    """A rate that holds every day from `start` to `end`, in minutes of the day of `zone`; without them, at all times.

    A window whose end is before its start goes over midnight.
    """

    bits_per_second: int
    start: int | None = None
    end: int | None = None
    zone: str = "UTC"

    @property
    def is_daily(self) -> bool:
        return self.start is not None and self.end is not None

    def __str__(self) -> str:
        rate = format_bandwidth(self.bits_per_second)
        if self.start is None or self.end is None:
            return rate
        return f"{rate} from {format_time_of_day(self.start)} to {format_time_of_day(self.end)} {self.zone}"


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Windows of a day, and perhaps one without times for the rest of it. Outside of all there is no limit."""

    windows: tuple[LimitWindow, ...]

    def __str__(self) -> str:
        daily = [str(one) for one in self.windows if one.is_daily]
        always = [str(one) for one in self.windows if not one.is_daily]
        if not daily:
            return ", ".join(always)
        return f"{', '.join(daily)}, otherwise {always[0] if always else 'unlimited'}"


def parse_time_of_day(text: str) -> int:
    """`08:00` as minutes; `24:00` is the end of a day."""
    match = _TIME_OF_DAY.fullmatch(text.strip())
    minutes = int(match[1]) * 60 + int(match[2]) if match else DAY_MINUTES + 1
    if minutes > DAY_MINUTES:
        raise BadRequest(f"{text!r} is not a time of day.", hint="Write it as 08:00 or 18:30.")
    return minutes


def parse_between(text: str) -> tuple[int, int]:
    """`08:00-18:00` as minutes of the day."""
    start, dash, end = text.partition("-")
    if not dash:
        raise BadRequest(f"{text!r} is not a time window.", hint="Write it as 08:00-18:00.")
    return parse_time_of_day(start), parse_time_of_day(end)


def format_time_of_day(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
