"""Which rate of a limit is in force at a moment, and when that changes; and which limits make no sense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from millpond.errors import BadRequest
from millpond.model.quantity import format_bandwidth
from millpond.model.rate_limit import DAY_MINUTES, LimitWindow, RateLimit
from millpond.model.time_zone import check_zone

# What is slower is no limit but a stop: connections run into their timeouts.
LEAST_BITS = 64_000
MOST_WINDOWS = 24
# Clocks change at quarters of an hour, and a window may fall into the hour that one day lacks.
_STEP = timedelta(minutes=15)
_AHEAD = timedelta(hours=50)


@dataclass(frozen=True, slots=True)
class RateInForce:
    """`bits_per_second` is None where nothing is limited now; `until` is None if that never changes."""

    bits_per_second: int | None
    until: datetime | None = None
    zone: str = "UTC"

    @property
    def bytes_per_second(self) -> float | None:
        return None if self.bits_per_second is None else self.bits_per_second / 8

    def __str__(self) -> str:
        """`limited to 100 Mbit/s until 18:00 Europe/Berlin`."""
        if self.bits_per_second is None:
            return f"unlimited{self._until()}"
        return f"limited to {format_bandwidth(self.bits_per_second)}{self._until()}"

    def _until(self) -> str:
        return f" until {self.until.astimezone(ZoneInfo(self.zone)):%H:%M} {self.zone}" if self.until else ""


def check_limit(limit: RateLimit) -> RateLimit:
    """BadRequest for a limit that makes no sense, with what to do instead."""
    if not limit.windows:
        raise BadRequest("A limit needs a rate.", hint="Write it as 100Mbit/s, or remove the limit with --no-limit.")
    if len(limit.windows) > MOST_WINDOWS:
        raise BadRequest(f"A limit has at most {MOST_WINDOWS} windows.")
    if sum(not one.is_daily for one in limit.windows) > 1:
        raise BadRequest("Only one rate can hold outside of all windows.", hint="Give the others a window: --between.")
    for window in limit.windows:
        _check_window(window)
    return limit


def in_force(limit: RateLimit | None, now: datetime) -> RateInForce:
    """The rate at this moment. Where windows overlap, the lowest holds."""
    now = now.astimezone(UTC)
    window = _window_at(limit.windows, now) if limit else None
    rate = window.bits_per_second if window else None
    if limit is None or not any(one.is_daily for one in limit.windows):
        return RateInForce(rate)
    until = next((at for at in _moments(limit.windows, now) if _rate_at(limit.windows, at) != rate), None)
    zone = window.zone if window and window.is_daily else next(one.zone for one in limit.windows if one.is_daily)
    return RateInForce(rate, until, zone)


def is_between(start: int, end: int, zone: str, at: datetime) -> bool:
    """Whether a clock on the wall there shows a time from `start` to `end`, in minutes of the day."""
    local = at.astimezone(ZoneInfo(zone))
    minute = local.hour * 60 + local.minute
    if start < end:
        return start <= minute < end
    return minute >= start or minute < end


def lowest(found: Iterable[RateInForce]) -> RateInForce:
    """The one that counts where several hold at once."""
    limited = [one for one in found if one.bits_per_second is not None]
    return min(limited, key=lambda one: one.bits_per_second or 0, default=RateInForce(None))


def _check_window(window: LimitWindow) -> None:
    if window.bits_per_second <= 0:
        raise BadRequest(
            "A limit of 0 would stop all fills.",
            hint=f"Set at least {format_bandwidth(LEAST_BITS)}, or remove the limit with --no-limit. To fetch nothing "
            "from another site, remove the link: mill link rm. To stop one fill: mill cache clear.",
        )
    if window.bits_per_second < LEAST_BITS:
        raise BadRequest(
            f"A limit of {format_bandwidth(window.bits_per_second)} is too low: connections would time out.",
            hint=f"Set at least {format_bandwidth(LEAST_BITS)}.",
        )
    check_zone(window.zone)
    if (window.start is None) != (window.end is None):
        raise BadRequest("A window needs a start and an end.", hint="Write it as 08:00-18:00.")
    if window.start is None or window.end is None:
        return
    if not (0 <= window.start < DAY_MINUTES and 0 <= window.end <= DAY_MINUTES):
        raise BadRequest("A window lies between 00:00 and 24:00.", hint="Write it as 08:00-18:00.")
    if window.start == window.end % DAY_MINUTES:
        raise BadRequest("A window needs some length.", hint="For the whole day leave out --between.")


def _rate_at(windows: tuple[LimitWindow, ...], at: datetime) -> int | None:
    window = _window_at(windows, at)
    return window.bits_per_second if window else None


def _window_at(windows: tuple[LimitWindow, ...], at: datetime) -> LimitWindow | None:
    """Windows of a day come before the one that is for the rest of it."""
    holding = [one for one in windows if _holds(one, at)]
    return min(holding, key=lambda one: (not one.is_daily, one.bits_per_second), default=None)


def _holds(window: LimitWindow, at: datetime) -> bool:
    """By what a clock on the wall shows there: an hour that comes twice lies in the window twice."""
    if window.start is None or window.end is None:
        return True
    return is_between(window.start, window.end, window.zone, at)


def _moments(windows: tuple[LimitWindow, ...], now: datetime) -> list[datetime]:
    """All moments at which a rate may change, in order: both ends of windows, and whenever clocks may change."""
    first = now.replace(minute=0, second=0, microsecond=0)
    steps = [first + number * _STEP for number in range(int(_AHEAD / _STEP))]
    ends = [at for one in windows if one.is_daily for at in _ends(one, now)]
    return sorted(at for at in {*steps, *ends} if at > now)


def _ends(window: LimitWindow, now: datetime) -> list[datetime]:
    zone = ZoneInfo(window.zone)
    today = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    found: list[datetime] = []
    for day in range(-1, 4):
        for minutes in (window.start, window.end):
            local = today + timedelta(days=day, minutes=minutes or 0)
            found += [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    return found
