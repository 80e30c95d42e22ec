"""`mill run import mlflow|tensorboard`: runs of other trackers."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.progress import Meter, going_on
from millpond.cli.session import Session
from millpond.client.run_import.found import ImportSummary
from millpond.client.run_import.importing import take_mlflow, take_tensorboard
from millpond.model.quantity import format_bytes, format_count

DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what would be imported; write nothing.")]
_SHOWN = 20


def add_import_commands(app: typer.Typer) -> None:
    group = typer.Typer(help="Import runs of MLflow and TensorBoard.", no_args_is_help=True)
    group.callback()(_group)
    command(group, "mlflow")(mlflow)
    command(group, "tensorboard")(tensorboard)
    app.add_typer(group, name="import")


def mlflow(
    mill: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="Server, sqlite:///mlflow.db, or folder (./mlruns).")],
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only runs of this experiment, and no models; may be given several times.")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Import experiments, runs and models of MLflow; what was imported before is skipped.

    Example: mill run import mlflow http://mlflow.example.com:5000 --experiment x-ray
    """
    with Meter(mill.out, "Importing") as meter, going_on():
        done = take_mlflow(
            mill.api, mill.project, uri, experiments=experiment or (), dry_run=dry_run,
            told=partial(_tell, meter),
        )  # fmt: skip
    _show(mill, done, dry_run=dry_run)


def tensorboard(
    mill: Session,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with event files, or folders of them.")],
    experiment: Annotated[
        str | None, typer.Option(help="Experiment of the runs (default: the name of the folder).")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Import TensorBoard's event files: each folder that has some is a run.

    Example: mill run import tensorboard ./runs --experiment x-ray
    """
    with Meter(mill.out, "Importing") as meter, going_on():
        done = take_tensorboard(
            mill.api, mill.project, folder, experiment=experiment, dry_run=dry_run,
            told=partial(_tell, meter),
        )  # fmt: skip
    _show(mill, done, dry_run=dry_run)


def _tell(meter: Meter, done: ImportSummary) -> None:
    seen = done.runs_new + done.runs_updated + done.runs_unchanged
    meter.update(title=f"Importing: {format_count(seen, 'run')}", done=done.bytes, files=done.files)


def _show(mill: Session, done: ImportSummary, *, dry_run: bool) -> None:
    if mill.out.as_json:
        mill.out.json({**asdict(done), "dry_run": dry_run})
        return
    for problem in done.problems[:_SHOWN]:
        mill.out.note(f"Not imported: {problem}")
    if len(done.problems) > _SHOWN:
        mill.out.note(f"… and {len(done.problems) - _SHOWN} more; all with --json.")
    verb = "Would import" if dry_run else "Imported"
    parts = [f"{format_count(done.runs_new, 'new run')}"]
    if done.runs_updated:
        parts.append(f"more of {format_count(done.runs_updated, 'run')}")
    if not dry_run:
        files = f"{format_count(done.files, 'file')} ({format_bytes(done.bytes)})"
        parts += [format_count(done.points, "point"), files]
    if done.versions_new or done.versions_unchanged:
        parts.append(format_count(done.versions_new, "version") + " of models")
    skipped = f" Unchanged: {format_count(done.runs_unchanged, 'run')}." if done.runs_unchanged else ""
    mill.out.line(f"{verb} {', '.join(parts)}.{skipped}")


def _group() -> None:
    """Import runs of MLflow and TensorBoard."""
