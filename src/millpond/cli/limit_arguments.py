"""The options --limit, --between and --no-limit of links and sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from millpond.errors import BadRequest
from millpond.model.quantity import parse_bandwidth
from millpond.model.rate_limit import format_time_of_day, parse_between
from millpond.wire.rate_limits import LimitWindowPut, RateLimitPut

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="SPEED",
        help="Highest rate of fills, like 100Mbit/s. One for each --between, and perhaps one for all other times.",
    ),
]
Between = Annotated[
    list[str] | None,
    typer.Option("--between", metavar="TIMES", help="Daily window of a limit, like 08:00-18:00 Europe/Berlin."),
]
# Behind the times of each window: an option of Typer that may be repeated has one value only.
Zones = Annotated[
    list[str] | None, typer.Argument(metavar="[ZONE]...", help="Time zone of each --between (default: UTC).")
]
NoLimit = Annotated[bool, typer.Option("--no-limit", help="Remove the limit.")]


def limit_of(
    limits: Sequence[str] | None, between: Sequence[str] | None, zones: Sequence[str] | None
) -> RateLimitPut | None:
    """The limit that these options stand for; None without any. BadRequest if they do not go together."""
    rates, windows = [parse_bandwidth(one) for one in limits or ()], _windows(between or (), zones or ())
    if not rates and windows:
        raise BadRequest("--between needs a --limit.", hint="For example: --limit 100Mbit/s --between 08:00-18:00 UTC")
    if not rates:
        return None
    # One rate may hold in several windows; one more than there are windows is for all other times.
    if len(rates) == 1 and len(windows) > 1:
        rates *= len(windows)
    if not len(windows) <= len(rates) <= len(windows) + 1:
        raise BadRequest(
            f"{len(rates)} times --limit do not go with {len(windows)} times --between.",
            hint="Give one --limit for each --between, and perhaps a last one for all other times.",
        )
    daily = [_window(rate, *window) for rate, window in zip(rates, windows, strict=False)]
    return RateLimitPut(windows=[*daily, *(LimitWindowPut(bits_per_second=rate) for rate in rates[len(windows) :])])


def check_together(limit: RateLimitPut | None, no_limit: bool) -> None:
    if limit is not None and no_limit:
        raise BadRequest("--limit and --no-limit exclude each other.", hint="Give one of them.")


def _windows(between: Sequence[str], zones: Sequence[str]) -> list[tuple[str, str]]:
    """Times and zone of each window. One zone holds for all."""
    if len(zones) > max(1, len(between)) or (zones and not between):
        raise BadRequest(f"Unexpected argument {zones[-1]!r}.", hint="Write windows as --between 08:00-18:00 ZONE.")
    if 1 < len(zones) < len(between):
        raise BadRequest("Some windows have no time zone.", hint="Give one for each --between, or one for all.")
    named = [*zones] if len(zones) == len(between) else [*(zones or ["UTC"])] * len(between)
    return list(zip(between, named, strict=True))


def _window(rate: int, times: str, zone: str) -> LimitWindowPut:
    start, end = (format_time_of_day(minutes) for minutes in parse_between(times))
    return LimitWindowPut(bits_per_second=rate, start=start, end=end, zone=zone)
