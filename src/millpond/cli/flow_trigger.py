"""`mill flow trigger`: what starts flows by itself."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.client.flows.triggers import (
    change_trigger,
    fire_trigger,
    list_firings,
    list_triggers,
    rotate_secret,
)
from millpond.errors import BadRequest, NotFound
from millpond.model.flow_trigger import FiringState
from millpond.wire.flow_triggers import Trigger

trigger = typer.Typer(help="List, enable, disable and fire what starts flows by itself.")

Name = Annotated[str, typer.Argument(metavar="FLOW", help="Name of the flow.")]
Chosen = Annotated[
    str | None,
    typer.Argument(
        metavar="TRIGGER", help="Id, place in the file (from 1), or name of a webhook. Default: the only one."
    ),
]


def add_to(app: typer.Typer) -> None:
    app.add_typer(trigger, name="trigger")


@command(trigger, "list")
def list_all(
    mill: Session,
    flow: Annotated[str | None, typer.Argument(metavar="FLOW", help="Only of this flow.")] = None,
) -> None:
    """List triggers: what they wait for, when they fired last, and why one does not fire.

    Example: mill flow trigger list words
    """
    mill.out.items(
        list_triggers(mill.api, mill.project, flow),
        [
            ("FLOW", lambda one: one.flow),
            ("NUMBER", lambda one: one.position),
            ("TRIGGER", lambda one: one.title),
            ("ENABLED", lambda one: "yes" if one.enabled else "no"),
            ("NEXT", lambda one: one.next_at),
            ("LAST FIRED", lambda one: one.fired_at),
            ("RUN", lambda one: one.newest.written if one.newest else None),
            ("RUNS AS", lambda one: one.run_as),
            ("PROBLEM", lambda one: one.problem),
            ("URL", lambda one: one.url),
            ("ID", lambda one: one.id),
        ],
        empty="No triggers yet. Add them to a flow under `triggers`: docs/flow-triggers.md",
        drop=("ID", "URL", "RUNS AS", "RUN"),
    )


@command(trigger, "enable")
def enable(mill: Session, flow: Name, which: Chosen = None) -> None:
    """Enable a trigger. What happened while it was disabled is not made up for.

    Example: mill flow trigger enable words 1
    """
    _change(mill, flow, which, "enable")


@command(trigger, "disable")
def disable(mill: Session, flow: Name, which: Chosen = None) -> None:
    """Disable a trigger: it starts nothing until it is enabled.

    Example: mill flow trigger disable words 1
    """
    _change(mill, flow, which, "disable")


@command(trigger, "fire")
def fire(
    mill: Session,
    flow: Name,
    which: Chosen = None,
    given: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the flow. Repeatable.")
    ] = None,
) -> None:
    """Start a run as the trigger would now, even if it is disabled: of a commit trigger, with the newest commit.

    Example: mill flow trigger fire words 1
    """
    found = _find(mill, flow, which)
    fired = fire_trigger(mill.api, mill.project, flow, found.id, parse_pairs(given, "--set"))
    mill.out.shape(
        fired, [("state", fired.state), ("run", fired.written), ("id", fired.run), ("reason", fired.reason or None)]
    )
    if fired.written:
        mill.out.note(f"Follow it: mill flow show {fired.written}")


@command(trigger, "rotate-secret")
def new_secret(mill: Session, flow: Name, which: Chosen = None) -> None:
    """Create a new secret for a webhook and print it, this once. The earlier one stops working.

    Example: mill flow trigger rotate-secret words retrain
    """
    made = rotate_secret(mill.api, mill.project, flow, _find(mill, flow, which, kind="webhook").id)
    mill.out.shape(made, [("url", made.trigger.url), ("secret", made.secret)])
    mill.out.note("Keep the secret: it is not shown again. How to sign a call: docs/flow-triggers.md")


@command(trigger, "history")
def history(
    mill: Session,
    flow: Name,
    which: Annotated[
        str | None,
        typer.Argument(metavar="TRIGGER", help="Only of this one: id, place in the file, or name of a webhook."),
    ] = None,
    state: Annotated[FiringState | None, typer.Option("--state", help="Only firings in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of firings.")] = 50,
) -> None:
    """List what set triggers off, newest first: fired, skipped or refused, and why.

    Example: mill flow trigger history words
    """
    chosen = state.value if state else None
    mill.out.items(
        list_firings(mill.api, mill.project, flow, trigger=which, state=chosen, at_most=limit),
        [
            ("AT", lambda one: one.created_at),
            ("STATE", lambda one: one.state),
            ("BY", lambda one: one.by),
            ("COMMIT", lambda one: one.commit[:12] if one.commit else None),
            ("FOR", lambda one: one.scheduled_at),
            ("RUN", lambda one: one.written),
            ("REASON", lambda one: one.reason),
        ],
        empty=f"Nothing has set off a trigger of {flow} yet.",
        drop=("COMMIT", "FOR"),
    )


def _change(mill: Session, flow: str, which: str | None, verb: str) -> None:
    found = change_trigger(mill.api, mill.project, flow, _find(mill, flow, which).id, verb)
    fields: list[tuple[str, Any]] = [("trigger", found.title), ("enabled", found.enabled), ("next", found.next_at)]
    mill.out.shape(found, fields)
    mill.out.note(f"Trigger {found.position} of {flow} {verb}d.")


def _find(mill: Session, flow: str, which: str | None, *, kind: str | None = None) -> Trigger:
    known = list_triggers(mill.api, mill.project, flow)
    fitting = [one for one in known if kind is None or one.type == kind]
    if which is not None:
        chosen = [one for one in known if which in (one.id, str(one.position), one.settings.get("name"))]
        if not chosen:
            raise NotFound(f"Flow {flow} has no trigger {which!r}.", hint=f"List them: mill flow trigger list {flow}")
        return chosen[0]
    if len(fitting) == 1:
        return fitting[0]
    what = f"{kind} trigger" if kind else "trigger"
    if not fitting:
        raise NotFound(f"Flow {flow} has no {what}.", hint="Add one to its file under `triggers`, and save it.")
    raise BadRequest(
        f"Flow {flow} has {len(fitting)} {what}s.", hint=f"Name one by its number: mill flow trigger list {flow}"
    )
