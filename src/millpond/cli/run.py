"""`mill run`: parameters, metrics and artifacts of jobs and scripts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.artifacts import download_artifacts, list_artifacts
from millpond.client.credentials import spool_dir
from millpond.client.runs import get_metrics, get_run, list_runs
from millpond.client.spool_sender import send_abandoned
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.runs import Series

app = typer.Typer()

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]


@command(app, "list")
def list_all(
    mill: Session,
    experiment: Annotated[str | None, typer.Option(help="Only runs of this experiment.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="List runs in the bin.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of runs.", min=1)] = 100,
) -> None:
    """List runs, newest first.

    Example: mill run list --experiment baseline
    """
    mill.out.items(
        list_runs(mill.api, project=mill.project, experiment=experiment, deleted=deleted, at_most=limit),
        [
            ("RUN", lambda r: r.id),
            ("NAME", lambda r: r.name),
            ("EXPERIMENT", lambda r: r.experiment),
            ("STATE", lambda r: r.job_state or r.state),
            ("USER", lambda r: r.created_by),
            ("STARTED", lambda r: r.started_at),
            ("METRICS", lambda r: _pairs(r.metrics)),
        ],
        empty="No runs yet. Submit a job, or call millpond.init() in a script.",
    )


@command(app, "show")
def show(mill: Session, run: RunId) -> None:
    """Show a run: parameters, tags, latest metrics, artifacts.

    Example: mill run show 3fa2c1d0
    """
    found = get_run(mill.api, mill.project, run)
    artifacts = [] if mill.out.as_json else [a.path for a in list_artifacts(mill.api, mill.project, run)]
    mill.out.shape(
        found,
        [
            ("run", found.id),
            ("name", found.name),
            ("experiment", found.experiment),
            ("state", found.job_state or found.state),
            ("job", found.job),
            ("by", found.created_by),
            ("started", found.started_at),
            ("ended", found.ended_at),
            *((f"param {key}", _word(value)) for key, value in sorted(found.params.items())),
            *((f"tag {key}", value) for key, value in sorted(found.tags.items())),
            *((f"metric {key}", _word(value)) for key, value in sorted(found.metrics.items())),
            ("artifacts", artifacts),
        ],
    )


@command(app, "metrics")
def metrics(
    mill: Session,
    run: RunId,
    key: Annotated[str | None, typer.Argument(help="Only this metric.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Maximum number of points per metric; more are thinned out.", min=2)
    ] = 1000,
) -> None:
    """Print the metrics of a run.

    Example: mill run metrics 3fa2c1d0 loss
    """
    series = get_metrics(mill.api, mill.project, run, key, limit)
    if mill.out.as_json:
        mill.out.json(series.model_dump(mode="json"))
        return
    columns: list[Column[tuple[Series, int]]] = [
        ("METRIC", lambda row: row[0].key),
        ("STEP", lambda row: row[0].steps[row[1]]),
        ("VALUE", lambda row: row[0].values[row[1]]),
        ("WHEN", lambda row: datetime.fromtimestamp(row[0].times[row[1]] / 1000, UTC)),
    ]
    points = [(one, index) for one in series.items for index in range(len(one.steps))]
    mill.out.items(points, columns, empty="This run has no metrics.")


@command(app, "artifacts")
def artifacts(
    mill: Session,
    run: RunId,
    path: Annotated[str, typer.Argument(help="Only files below this folder.")] = "",
) -> None:
    """List the artifacts of a run.

    Example: mill run artifacts 3fa2c1d0 plots
    """
    mill.out.items(
        list_artifacts(mill.api, mill.project, run, path),
        [("ARTIFACT", lambda a: a.path), ("SIZE", lambda a: Bytes(a.size))],
        empty="This run has no artifacts." if not path else f"This run has no artifacts below {path!r}.",
    )


@command(app, "download")
def download(
    mill: Session,
    run: RunId,
    path: Annotated[str, typer.Argument(help="Only this file, or the files of this folder.")] = "",
    to: Annotated[Path, typer.Option("--to", help="The folder to write to.", file_okay=False)] = Path(),
) -> None:
    """Download the artifacts of a run, straight from the lake.

    Example: mill run download 3fa2c1d0 plots --to results
    """
    with Meter(mill.out, f"Downloading artifacts of {run}") as meter:
        found = download_artifacts(mill.api, mill.project, run, to, path=path, progress=tell(meter))
    if mill.out.as_json:
        mill.out.json({"items": [{**item.model_dump(mode="json"), "file": str(to / item.path)} for item in found]})
        return
    size = format_bytes(sum(item.size for item in found))
    mill.out.note(
        f"Downloaded {format_count(len(found), 'file')}, {size}, to {to}." if found else "This run has no artifacts."
    )


@command(app, "upload")
def upload(mill: Session) -> None:
    """Upload what scripts on this machine logged while the server was unreachable.

    Example: mill run upload
    """
    sent, problems = send_abandoned(mill.api, spool_dir())
    for problem in problems:
        mill.out.warn(problem)
    if mill.out.as_json:
        mill.out.json({"sent": sent, "problems": problems})
    else:
        mill.out.note(f"{format_count(sent, 'run')} uploaded." if sent else "Nothing to upload.")


def _pairs(values: dict[str, float]) -> str:
    return " ".join(f"{key}={value:.4g}" for key, value in sorted(values.items()))


def _word(value: Any) -> Any:
    return value if isinstance(value, (int, float, str)) and not isinstance(value, bool) else str(value)
