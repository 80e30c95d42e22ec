"""`mill data lineage`: what made a commit, and what was made from it."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.lineage_tree import show_graph
from millpond.cli.session import Session
from millpond.client.lineage import get_graph, get_lineage
from millpond.model.lineage import LineageDirection
from millpond.wire.lineage import Lineage, LineageCommit, LineageStep


def add_lineage_command(app: typer.Typer) -> None:
    command(app, "lineage")(show_lineage)


def show_lineage(
    mill: Session,
    written: Annotated[
        str | None,
        typer.Argument(metavar="DATASET[@REF]", help="The dataset (that of this folder), and the ref (main)."),
    ] = None,
    up: Annotated[bool, typer.Option("--up", help="Only what made it.")] = False,
    down: Annotated[bool, typer.Option("--down", help="Only what was made from it.")] = False,
    depth: Annotated[int, typer.Option("--depth", help="How many commits away to look.", min=1, max=50)] = 3,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most steps to show of each.", min=1, max=1000)] = 100,
    graph: Annotated[
        bool, typer.Option("--graph", help="Show runs and commits as a tree; with --json, as nodes and edges.")
    ] = False,
) -> None:
    """Show what made a commit, and what was made from it.

    Example: mill data lineage xray@main --down
    """
    ref = named(mill, written)
    both = up == down
    if graph:
        way = "both" if both else "up" if up else "down"
        commit = f"{ref.project}/{ref.dataset}@{ref.ref}"
        # A step of the graph leads from a commit to a run, or from a run to a commit.
        steps = min(2 * depth, 20)
        show_graph(mill, get_graph(mill.api, ref.project, commit=commit, direction=way, depth=steps, limit=limit))
        return
    wanted = [way for way, asked in ((LineageDirection.UP, up), (LineageDirection.DOWN, down)) if asked or both]
    found = [get_lineage(mill.api, ref.project, ref.dataset, ref.ref, way, depth=depth, limit=limit) for way in wanted]
    if mill.out.as_json:
        mill.out.json({one.direction.value: one.model_dump(mode="json") for one in found})
        return
    rows = [(one, step) for one in found for step in one.steps]
    mill.out.items(
        rows,
        [
            ("", lambda row: "made by" if row[0].direction is LineageDirection.UP else "made into"),
            ("DEPTH", lambda row: row[1].depth),
            ("MADE", lambda row: _end(row[1].made)),
            ("BY", lambda row: _maker(row[1])),
            ("FROM", lambda row: _end(row[1].source)),
            ("AS", lambda row: row[1].role),
        ],
        empty="Nothing is known about how this commit was made, and nothing was made from it.",
    )
    _tell_rest(mill, found, limit)


def _tell_rest(mill: Session, found: list[Lineage], limit: int) -> None:
    if any(one.is_cut for one in found):
        mill.out.note(f"There is more than these {limit} steps: use --limit.")


def _end(commit: LineageCommit | None) -> str:
    if commit is None:
        return "-"
    if commit.dataset is None:
        return f"{commit.id[:12]} (deleted)"
    return f"{commit.project}/{commit.dataset}@{commit.id[:12]}"


def _maker(step: LineageStep) -> str:
    name = f"{step.maker_project}/{step.maker_name}" if step.maker_name else step.maker.id
    return f"{step.maker.kind} {name}".strip()
