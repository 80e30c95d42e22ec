"""`mill flow backfill`: run a flow for each of many choices of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import TimeoutOption, flow_name
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.client.flows.triggers import (
    cancel_backfill,
    create_backfill,
    get_backfill,
    list_backfills,
    plan_backfill,
    wait_for_backfill,
)
from millpond.errors import BadRequest
from millpond.model.quantity import format_count, parse_seconds
from millpond.wire.flow_triggers import Backfill, BackfillCreate, BackfillPart, BackfillPlan

app = typer.Typer()
backfills = typer.Typer(help="List, show and cancel backfills.")
app.add_typer(backfills, name="backfills")

Id = Annotated[str, typer.Argument(metavar="BACKFILL", help="Id of the backfill.")]
_CODES = {"failed": 100, "running": 101, "cancelled": 103}


@command(app, "backfill")
def backfill(
    mill: Session,
    flow: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="Flow of the project.")],
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUES", help="Values: 2026-01-01..2026-01-31, 1..10 or a,b,c. Repeatable."
        ),
    ] = None,
    max_parallel: Annotated[int, typer.Option("--max-parallel", min=1, help="Maximum number of runs at once.")] = 4,
    skip_done: Annotated[
        bool, typer.Option("--skip-done", help="Skip values of which a run of this version succeeded or goes on.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the runs. Start nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all runs have ended.")] = False,
    timeout: TimeoutOption = None,
) -> None:
    """Run a flow once for each value of a parameter, or for each combination of several. Shows the plan first.

    With --wait, the exit code is 0 for succeeded, 100 for failed, 101 for not finished in time, 103 for cancelled.

    Example: mill flow backfill ingest --param day=2026-01-01..2026-01-31 --max-parallel 2 --skip-done
    """
    params = parse_pairs(given, "--param")
    if not params:
        raise BadRequest(
            "Nothing to run the flow over.", hint="Add --param NAME=VALUES, like day=2026-01-01..2026-01-31."
        )
    found = flow_name(flow)
    request = BackfillCreate(
        params=params, version=found.version, max_parallel=max_parallel, skip_done=skip_done
    )  # fmt: skip
    plan = plan_backfill(mill.api, mill.project, found.name, request)
    if dry_run:
        _show_plan(mill, plan)
        return
    planned = plan.counts.get("planned", 0)
    if not planned:
        _show_plan(mill, plan)
        mill.out.note("Nothing left to run.")
        return
    if not yes and not mill.out.as_json:
        _show_plan(mill, plan)
    mill.confirm(f"Start {format_count(planned, 'run')} of {plan.flow}@{plan.version}?", yes=yes)
    made = create_backfill(mill.api, mill.project, found.name, request.model_copy(update={"version": plan.version}))
    mill.out.note(f"Backfill {made.id} started. Follow it: mill flow backfills show {made.id}")
    if wait:
        made = _wait(mill, made, timeout)
    _show(mill, made)
    if wait and made.state in _CODES:
        raise typer.Exit(_CODES[made.state])


@command(backfills, "list")
def list_all(
    mill: Session,
    flow: Annotated[str | None, typer.Argument(metavar="FLOW", help="Only of this flow.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of backfills.")] = 50,
) -> None:
    """List backfills, newest first.

    Example: mill flow backfills list ingest
    """
    mill.out.items(
        list_backfills(mill.api, mill.project, flow=flow, at_most=limit),
        [
            ("BACKFILL", lambda one: one.id),
            ("FLOW", lambda one: f"{one.flow}@{one.version}"),
            ("STATE", lambda one: one.state),
            ("RUNS", lambda one: _counts(one.counts)),
            ("PARAMS", lambda one: _pairs(one.params)),
            ("STARTED", lambda one: one.created_at),
            ("BY", lambda one: one.created_by),
        ],
        empty="No backfills yet. Start one: mill flow backfill FLOW --param NAME=VALUES",
        drop=("BY", "PARAMS"),
    )


@command(backfills, "show")
def show(mill: Session, backfill_id: Id) -> None:
    """Show a backfill with its runs.

    Example: mill flow backfills show k3v9x2m1ab
    """
    _show(mill, get_backfill(mill.api, mill.project, backfill_id))


@command(backfills, "cancel")
def cancel(mill: Session, backfill_id: Id) -> None:
    """Start nothing more of a backfill, and cancel its runs that go on.

    Example: mill flow backfills cancel k3v9x2m1ab
    """
    _show(mill, cancel_backfill(mill.api, mill.project, backfill_id))
    mill.out.note(f"Backfill {backfill_id} cancelled.")


def _wait(mill: Session, made: Backfill, timeout: str | None) -> Backfill:
    limit = None if timeout is None else parse_seconds(timeout)
    return wait_for_backfill(
        mill.api, mill.project, made.id, timeout=limit, changed=lambda one: mill.out.note(_counts(one.counts))
    )


def _show_plan(mill: Session, plan: BackfillPlan) -> None:
    if mill.out.as_json:
        mill.out.json(plan.model_dump(mode="json"))
        return
    _table(mill, plan.parts)
    mill.out.note(f"{plan.flow}@{plan.version}: {_counts(plan.counts)}.")


def _show(mill: Session, found: Backfill) -> None:
    fields: list[tuple[str, Any]] = [
        ("backfill", found.id),
        ("flow", f"{found.flow}@{found.version}"),
        ("state", found.state),
        ("runs", _counts(found.counts)),
        ("reason", found.reason or None),
        ("at once", found.max_parallel),
        ("by", found.created_by),
    ]
    mill.out.shape(found, fields)
    if not mill.out.as_json:
        _table(mill, found.parts or [])


def _table(mill: Session, parts: Sequence[BackfillPart]) -> None:
    mill.out.table(
        parts,
        [
            ("NUMBER", lambda one: one.number),
            ("PARAMS", lambda one: _pairs(one.params)),
            ("STATE", lambda one: one.state),
            ("RUN", lambda one: one.written),
            ("REASON", lambda one: one.reason),
        ],
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in sorted(counts.items())) or "none"


def _pairs(params: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in params.items())
