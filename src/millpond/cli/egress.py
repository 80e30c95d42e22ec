"""`mill egress`: what fills brought over links, in bytes and money, and monthly budgets for it."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.egress import (
    get_egress,
    get_egress_csv,
    list_egress_budgets,
    put_egress_budget,
    remove_egress_budget,
)
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes, parse_bytes
from millpond.wire.egress import EgressBudget, EgressBudgetPut, EgressRow

_SHOW = "show"


class _ShowGroup(TyperGroup):
    """`mill egress --by day` is `mill egress show --by day`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_option = bool(args) and args[0].startswith("-") and args[0] != "--help"
        return super().parse_args(ctx, [_SHOW, *args] if not args or is_option else args)


class By(StrEnum):
    DAY = "day"
    PROJECT = "project"
    SITE = "site"
    LINK = "link"


app = typer.Typer(cls=_ShowGroup)
budget_app = typer.Typer(help="Manage monthly egress budgets.", no_args_is_help=True)
app.add_typer(budget_app, name="budget")


@command(app, _SHOW)
def show(
    mill: Session,
    by: Annotated[list[By] | None, typer.Option("--by", help="What to group by (default: day).")] = None,
    site: Annotated[str | None, typer.Option(help="Only what came to this site.")] = None,
    link: Annotated[str | None, typer.Option(metavar="A:B", help="Only what came over a link, like lake:lab.")] = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day, like 2026-11-01 (default: of this month).")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="DAY", help="Last day (default: today).")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Show what fills brought over links: bytes, and money by the price of the link. Days are those of UTC.

    Example: mill egress show --by project --by link --from 2026-11-01
    """
    asked: dict[str, Any] = {
        "by": [one.value for one in by or [By.DAY]],
        "project": mill.flags.project,
        "site": site,
        "link": link,
        "since": _day(since),
        "until": _day(until),
    }
    if as_csv:
        mill.out.verbatim(get_egress_csv(mill.api, **asked))
        return
    found = get_egress(mill.api, **asked)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    columns = [(one.value.upper(), _part(one.value)) for one in By if one.value in asked["by"]]
    mill.out.items(
        found.rows,
        [*columns, ("BYTES", lambda row: Bytes(row.bytes)), ("MONEY", lambda row: f"{row.money:.2f}")],
        empty=f"No egress from {found.since} to {found.until}.",
    )
    mill.out.note(f"From {found.since} to {found.until}: {format_bytes(found.total.bytes)}, {found.total.money:.2f}.")
    for budget in list_egress_budgets(mill.api):
        if budget.level != "ok":
            mill.out.warn(f"Monthly egress budget of {_whose(budget)}: {budget.text} used.")


@command(budget_app, "set")
def set_budget(
    mill: Session,
    money: Annotated[float | None, typer.Option(help="Money in a month, in the unit of the links' prices.")] = None,
    size: Annotated[str | None, typer.Option("--bytes", metavar="SIZE", help="Bytes in a month, like 2TB.")] = None,
    warn: Annotated[str, typer.Option(metavar="PERCENT", help="Part at which a warning is shown.")] = "80%",
) -> None:
    """Set the monthly egress budget of --project, or of all projects together.

    It counts what fills bring over links with a price. When it is used up, no new fill over such a link begins until
    the month ends (UTC) or the budget is raised. Links without a price still work.

    Example: mill egress budget set --project vision --money 50 --warn 80%
    """
    put = EgressBudgetPut(bytes=parse_bytes(size) if size else None, money=money, warn_percent=_percent(warn))
    budget = put_egress_budget(mill.api, put, project=mill.flags.project)
    mill.out.note(f"Monthly egress budget of {_whose(budget)}: {budget.text} used.")
    mill.out.shape(
        budget, [("project", _whose(budget)), ("used", budget.text), ("warn at", f"{budget.warn_percent} %")]
    )


@command(budget_app, "list")
def list_budgets(mill: Session) -> None:
    """List monthly egress budgets with what is used of them.

    Example: mill egress budget list
    """
    mill.out.items(
        list_egress_budgets(mill.api),
        [
            ("PROJECT", _whose),
            ("USED", lambda budget: budget.text),
            ("STATE", lambda budget: budget.level),
            ("WARN AT", lambda budget: f"{budget.warn_percent} %"),
            ("ENDS", lambda budget: budget.ends_at),
            ("SET BY", lambda budget: budget.set_by),
        ],
        empty="No egress budgets yet. Set one: mill egress budget set --money 50",
    )


@command(budget_app, "rm")
def remove_budget(mill: Session) -> None:
    """Remove the monthly egress budget of --project, or of all projects together.

    Example: mill egress budget rm --project vision
    """
    remove_egress_budget(mill.api, project=mill.flags.project)
    whose = f"project {mill.flags.project}" if mill.flags.project else "all projects"
    mill.out.note(f"Monthly egress budget of {whose} removed.")


def _part(name: str) -> Any:
    def value(row: EgressRow) -> str | None:
        found: str | None = getattr(row, name)
        return found

    return value


def _whose(budget: EgressBudget) -> str:
    return budget.project or "all projects"


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadRequest(f"{text!r} is not a day.", hint="Write it as 2026-11-18.") from None


def _percent(text: str) -> int:
    try:
        return int(text.strip().removesuffix("%"))
    except ValueError:
        raise BadRequest(f"{text!r} is not a percentage.", hint="Write it as 80%.") from None
