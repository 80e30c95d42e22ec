"""Egress: what of a report is new, and what a budget says now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from millpond.errors import BadRequest
from millpond.model.egress import CountedFill, EgressBudget
from millpond.model.fill_source import FAR, SourceKey
from millpond.model.quantity import format_bytes


class BudgetLevel(StrEnum):
    OK = "ok"
    WARNING = "warning"
    EXCEEDED = "exceeded"


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A budget with what was used of it this month; `percent` is of whichever of its two numbers is nearer its end."""

    budget: EgressBudget
    bytes: int
    money: float
    percent: float
    level: BudgetLevel
    ends_at: datetime


def new_bytes(before: CountedFill | None, now: CountedFill) -> Mapping[SourceKey, int]:
    """What a report adds to what was counted: agents tell everything each time, and begin anew with each try."""
    is_same = before is not None and (before.attempt, before.session) == (now.attempt, now.session)
    counted = before.given if before is not None and is_same else {}
    added = {key: size - counted.get(key, 0) for key, size in now.given.items() if key.kind in FAR}
    return {key: size for key, size in added.items() if size > 0}


def merged(before: CountedFill | None, now: CountedFill) -> CountedFill:
    """What is counted after this report. A report that was overtaken takes nothing back."""
    if before is None or (before.attempt, before.session) != (now.attempt, now.session):
        return now
    keys = before.given.keys() | now.given.keys()
    given = {key: max(before.given.get(key, 0), now.given.get(key, 0)) for key in keys}
    return CountedFill(now.cached_id, now.attempt, now.session, given)


def check_budget(budget: EgressBudget) -> EgressBudget:
    """BadRequest for a budget that makes no sense."""
    if (budget.bytes is None) == (budget.money is None):
        raise BadRequest("A budget is either in bytes or in money.", hint="Give --bytes 500GB or --money 50.")
    if (budget.bytes is not None and budget.bytes <= 0) or (budget.money is not None and budget.money <= 0):
        raise BadRequest(
            "A budget must be more than 0.", hint="To allow no egress, set 1 byte; to allow all, remove the budget."
        )
    if not 1 <= budget.warn_percent <= 100:
        raise BadRequest("--warn must be between 1% and 100%.")
    return budget


def month_of(now: datetime) -> tuple[datetime, datetime]:
    """When the month of a moment began and when it ends, in UTC."""
    start = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return start, (start + timedelta(days=32)).replace(day=1)


def use_of(budget: EgressBudget, used_bytes: int, used_money: float, now: datetime) -> BudgetUse:
    part = used_bytes / budget.bytes if budget.bytes is not None else used_money / (budget.money or 1.0)
    level = BudgetLevel.OK
    # Sums of prices are a little less than they should be.
    part = round(part, 9)
    if part >= 1:
        level = BudgetLevel.EXCEEDED
    elif part * 100 >= budget.warn_percent:
        level = BudgetLevel.WARNING
    return BudgetUse(budget, used_bytes, used_money, part * 100, level, month_of(now)[1])


def used_words(use: BudgetUse) -> str:
    """`52.10 of 50.00`, or `1.2 TB of 1.0 TB`."""
    if use.budget.bytes is not None:
        return f"{format_bytes(use.bytes)} of {format_bytes(use.budget.bytes)}"
    return f"{use.money:.2f} of {use.budget.money or 0:.2f}"


def refusal(use: BudgetUse, project: str | None) -> str:
    """Why nothing new comes over links with a price: which budget, how much is used, when it ends."""
    whose = f"of project {project}" if project else "of all projects"
    end = f"{use.ends_at - timedelta(days=1):%Y-%m-%d}"
    return (
        f"The monthly egress budget {whose} is used up: {used_words(use)}. "
        f"Fills over links with a price wait until the month ends ({end} UTC)."
    )
