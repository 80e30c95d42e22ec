"""`mill project usage` and `quota`: what a project may take of what all share, what it uses, and who does."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import change_quota, project_usage
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes, parse_bytes
from millpond.wire.quotas import ProjectUsage, QuotaChange, QuotaUse

NONE = "none"
_BYTES = ("lake", "cached")
_WORDS = {
    "lake": "in the lake",
    "cached": "cached on volumes",
    "jobs": "jobs at work",
    "calls": "API calls a minute",
}

Name = Annotated[str, typer.Argument(help="Name of the project.")]


def add_to(app: typer.Typer) -> None:
    command(app, "usage")(usage)
    command(app, "quota")(quota)


def usage(mill: Session, name: Name) -> None:
    """Show what a project uses of the lake, caches, jobs and API calls, its quotas, and who uses most.

    Example: mill project usage vision
    """
    _show(mill, project_usage(mill.api, name))


def quota(
    mill: Session,
    name: Name,
    lake: Annotated[
        str | None, typer.Option("--lake", metavar="SIZE", help="The most it keeps in the lake; `none` for no limit.")
    ] = None,
    cached: Annotated[
        str | None,
        typer.Option("--cached", metavar="SIZE", help="The most it caches on all volumes; `none` for no limit."),
    ] = None,
    jobs: Annotated[
        str | None, typer.Option("--jobs", metavar="N", help="The most jobs at work at once; `none` for no limit.")
    ] = None,
    calls: Annotated[
        str | None, typer.Option("--calls", metavar="N", help="The most API calls a minute; `none` for no limit.")
    ] = None,
) -> None:
    """Limit what a project takes of what all share. What is not given stays.

    Example: mill project quota vision --lake 2TB --cached 500GB --jobs 20 --calls 600
    """
    changes = {
        "lake_bytes": _size(lake),
        "cached_bytes": _size(cached),
        "jobs": _number("--jobs", jobs),
        "calls_per_minute": _number("--calls", calls),
    }
    given = {field: value for field, value in changes.items() if value != ()}
    if not given:
        raise BadRequest(
            "Nothing to change.", hint=f"Give --lake, --cached, --jobs or --calls; see: mill project usage {name}"
        )
    changed = change_quota(mill.api, name, QuotaChange.model_validate(given))
    mill.out.note(f"Quotas of {name} changed.")
    _show(mill, changed)


def _show(mill: Session, found: ProjectUsage) -> None:
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    mill.out.items(
        found.items,
        [
            ("WHAT", lambda one: _WORDS.get(one.kind, one.kind)),
            ("USED", lambda one: _amount(one, one.used)),
            ("QUOTA", lambda one: "none" if one.limit is None else _amount(one, one.limit)),
            (
                "MOST OF IT",
                lambda one: ", ".join(f"{held.name} ({_amount(one, held.amount)})" for held in one.holders[:5]),
            ),
        ],
        empty="",
    )


def _amount(use: QuotaUse, amount: int) -> str:
    return format_bytes(amount) if use.kind in _BYTES else f"{amount:,}"


def _size(written: str | None) -> int | tuple[()] | None:
    if written is None or written == NONE:
        return () if written is None else None
    return parse_bytes(written)


def _number(option: str, written: str | None) -> int | tuple[()] | None:
    if written is None or written == NONE:
        return () if written is None else None
    if not written.isdigit():
        raise BadRequest(f"{option} must be a number or `none`, not {written!r}.")
    return int(written)
