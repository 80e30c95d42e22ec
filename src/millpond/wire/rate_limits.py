"""Limits of links and sites."""

from __future__ import annotations

from pydantic import Field, field_validator

from millpond.model.rate_limit import format_time_of_day
from millpond.wire.base import Request, Response, Time


class LimitWindow(Response):
    """A rate that holds every day from `start` to `end` of a zone (`08:00`); without them, at all other times."""

    bits_per_second: int
    start: str | None = None
    end: str | None = None
    zone: str = "UTC"

    @field_validator("start", "end", mode="before")
    @classmethod
    def _written(cls, value: object) -> object:
        return format_time_of_day(value) if isinstance(value, int) else value


class RateLimit(Response):
    """A limit, in words, and what is in force of it now: a null rate is no limit, a null `until` never changes."""

    windows: list[LimitWindow]
    text: str
    bits_per_second: int | None
    until: Time | None
    in_force: str


class LimitWindowPut(Request):
    """Times as `08:00`. A window that ends before it starts goes over midnight."""

    bits_per_second: int = Field(le=10**15)
    start: str | None = Field(default=None, max_length=10)
    end: str | None = Field(default=None, max_length=10)
    zone: str = Field(default="UTC", max_length=100)


class RateLimitPut(Request):
    """The whole limit. Outside of all windows nothing is limited, unless one has no times."""

    windows: list[LimitWindowPut] = Field(max_length=100)
