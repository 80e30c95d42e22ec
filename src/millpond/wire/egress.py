"""What fills brought over links, in bytes and money, and budgets for it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.wire.base import Request, Response, Time


class EgressRow(Response):
    """Bytes and money of one group; null for what it is not grouped by. A link is named by its two ends."""

    day: str | None  # 2026-11-18, of UTC
    project: str | None
    site: str | None
    link: str | None
    bytes: int
    money: float  # by the price of the link when the bytes came


class EgressReport(Response):
    """Days are those of UTC, both included."""

    since: str
    until: str
    rows: list[EgressRow]
    total: EgressRow


class EgressBudget(Response):
    """What may come over links with a price in a month of UTC; a null project is all of them together."""

    project: str | None
    bytes: int | None
    money: float | None
    warn_percent: int
    used_bytes: int
    used_money: float
    percent: float
    level: Literal["ok", "warning", "exceeded"]
    text: str
    ends_at: Time
    set_by: str
    set_at: Time


class EgressBudgetPut(Request):
    """Either in bytes or in money. At `warn_percent` of it a warning is shown."""

    bytes: int | None = Field(default=None, le=10**18)
    money: float | None = Field(default=None, le=10**12, allow_inf_nan=False)
    warn_percent: int = 80
