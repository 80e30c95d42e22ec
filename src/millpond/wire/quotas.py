"""Quotas of projects, what is used of them, and by whom."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from millpond.wire.base import Change, Response

Kind = Literal["lake", "cached", "jobs", "calls"]
_Bytes = Annotated[int, Field(ge=0, le=1 << 62)]
_Count = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]


class QuotaChange(Change):
    """What is left out stays; null lifts a limit."""

    lake_bytes: _Bytes | None = None
    cached_bytes: _Bytes | None = None
    jobs: _Count | None = None
    calls_per_minute: _Count | None = None


class QuotaHolder(Response):
    name: str
    amount: int


class QuotaUse(Response):
    """Of `lake` and `cached` in bytes, of `jobs` those at work, of `calls` those of the last minute.

    `limit` null: no quota. `text` says the same in words; `holders` have most of it, the greatest first.
    """

    kind: Kind
    limit: int | None
    used: int
    text: str
    holders: list[QuotaHolder]


class ProjectUsage(Response):
    project: str
    items: list[QuotaUse]
