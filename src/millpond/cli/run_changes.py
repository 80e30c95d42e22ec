"""`mill run note|tag|delete|undelete|export`: what changes runs or takes them elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.run_arguments import Columns, Experiment, Filter, RunId, RunIds, Sort
from millpond.cli.session import Session
from millpond.client.http import Api
from millpond.client.run_tables import split_columns, table_columns, write_csv, write_parquet
from millpond.client.runs import delete_run, edit_run, find_run, get_run, list_runs, undelete_run
from millpond.errors import BadRequest
from millpond.model.quantity import format_count
from millpond.wire.runs import Run, RunEdit

app = typer.Typer()


@command(app, "note")
def note(
    mill: Session,
    run: RunId,
    text: Annotated[str | None, typer.Argument(help="The note, as Markdown; without it the note is printed.")] = None,
) -> None:
    """Write or print the note of a run.

    Example: mill run note 3fa2c1d0 "Diverged after step 4000: learning rate too high."
    """
    found = find_run(mill.api, mill.project, run, unique=text is not None)
    if text is not None:
        edit_run(mill.api, mill.project, found.id, RunEdit(notes=text))
    notes = get_run(mill.api, mill.project, found.id).notes
    if mill.out.as_json:
        mill.out.json({"run": found.id, "notes": notes})
    elif text is None:
        mill.out.line(notes)
    else:
        mill.out.note(f"Note of run {found.name} saved.")


@command(app, "tag")
def tag(
    mill: Session,
    run: RunId,
    tags: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Tags to set; KEY= removes one.")],
) -> None:
    """Set or remove tags of a run.

    Example: mill run tag 3fa2c1d0 stage=candidate reviewed=
    """
    change: dict[str, str | None] = {}
    for written in tags:
        key, sign, value = written.partition("=")
        if not sign or not key:
            raise BadRequest(f"{written!r} is not a tag.", hint="Write KEY=VALUE, or KEY= to remove it.")
        change[key] = value or None
    found = find_run(mill.api, mill.project, run, unique=True)
    edited = edit_run(mill.api, mill.project, found.id, RunEdit(tags=change))
    if mill.out.as_json:
        mill.out.json(edited.model_dump(mode="json"))
    else:
        mill.out.note(f"Tags of run {edited.name}: {_written_tags(edited.tags)}.")


@command(app, "delete")
def delete(mill: Session, runs: RunIds) -> None:
    """Move runs to the bin, from which they can be restored.

    Example: mill run delete 3fa2c1d0
    """
    _for_each(mill, runs, delete_run, "deleted. Restore it with: mill run undelete {id}")


@command(app, "undelete")
def undelete(mill: Session, runs: RunIds) -> None:
    """Restore runs from the bin.

    Example: mill run undelete 3fa2c1d0
    """
    _for_each(mill, runs, undelete_run, "restored.")


@command(app, "export")
def export(
    mill: Session,
    to: Annotated[Path, typer.Argument(metavar="FILE", help="File to write: .csv or .parquet.", dir_okay=False)],
    filter: Filter = None,
    sort: Sort = None,
    columns: Columns = None,
    experiment: Experiment = None,
) -> None:
    """Export runs with their parameters, metrics and tags to CSV or Parquet.

    Example: mill run export runs.parquet --filter "metrics.acc > 0.9"
    """
    if to.suffix not in (".csv", ".parquet"):
        raise BadRequest(
            f"Cannot export to {to.name}: unknown format.", hint="Use a name that ends in .csv or .parquet."
        )
    asked = list_runs(mill.api, project=mill.project, experiment=experiment, filter=filter, sort=sort, columns=columns)
    found = list(asked)
    names = table_columns(found, split_columns(columns) if columns is not None else None)
    if to.suffix == ".csv":
        with to.open("w", newline="") as file:
            write_csv(found, names, file)
    else:
        write_parquet(found, names, to)
    if mill.out.as_json:
        mill.out.json({"file": str(to), "runs": len(found), "columns": names})
    else:
        mill.out.note(f"Exported {format_count(len(found), 'run')} to {to}.")


def _for_each(mill: Session, runs: list[str], act: Callable[[Api, str, str], Run], said: str) -> None:
    done = []
    for run in runs:
        found = find_run(mill.api, mill.project, run, unique=True)
        done.append(act(mill.api, mill.project, found.id))
        if not mill.out.as_json:
            mill.out.note(f"Run {found.name} {said.format(id=found.id)}")
    if mill.out.as_json:
        mill.out.json({"items": [run.model_dump(mode="json") for run in done]})


def _written_tags(tags: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(tags.items())) or "none"
