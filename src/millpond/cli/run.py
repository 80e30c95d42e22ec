"""`mill run`: parameters, metrics and artifacts of jobs and scripts."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli import run_changes, run_show, run_snapshots
from millpond.cli.command import command
from millpond.cli.lineage_tree import show_graph
from millpond.cli.output import Column
from millpond.cli.progress import Meter, tell
from millpond.cli.run_arguments import Columns, Experiment, Filter, Limit, RunId, RunIds, Sort
from millpond.cli.run_import import add_import_commands
from millpond.cli.run_show import value_cell
from millpond.cli.run_views import add_view_commands
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.artifacts import download_artifacts, list_artifacts
from millpond.client.credentials import spool_dir
from millpond.client.lineage import get_graph
from millpond.client.recorded_run import check_keys
from millpond.client.run_tables import cell, split_columns
from millpond.client.runs import (
    compare_runs,
    find_run,
    get_metrics,
    get_run,
    group_runs,
    list_runs,
)
from millpond.client.saved_views import find_view
from millpond.client.spool_sender import send_abandoned, waiting_elsewhere
from millpond.decide.run_filter import parse_columns
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.runs import Run, RunGroup, Series

# What a terminal shows of a list that has no end.
_MOST_PAIRS = 8

app = typer.Typer()
for part in (run_changes, run_show, run_snapshots):
    app.registered_commands += part.app.registered_commands
add_view_commands(app)
add_import_commands(app)


@command(app, "list")
def list_all(
    mill: Session,
    experiment: Experiment = None,
    filter: Filter = None,
    sort: Sort = None,
    columns: Columns = None,
    parent: Annotated[str | None, typer.Option(help="Only runs inside this run.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="List runs in the bin.")] = False,
    view: Annotated[str | None, typer.Option(help="Saved view; it fills in what you leave out.")] = None,
    limit: Limit = 100,
) -> None:
    """List runs, newest first unless sorted otherwise.

    Example: mill run list --filter "metrics.acc > 0.9" --sort "metrics.acc desc" --columns "params.lr, metrics.acc"
    """
    if view is not None:
        saved = find_view(mill.api, mill.project, view)
        experiment, filter = experiment or saved.experiment or None, filter or saved.filter or None
        sort, columns = sort or saved.sort or None, columns or saved.columns or None
    _show_runs(
        mill, columns, experiment=experiment, filter=filter, sort=sort, deleted=deleted, at_most=limit,
        parent=find_run(mill.api, mill.project, parent).id if parent else None,
    )  # fmt: skip


@command(app, "search")
def search(
    mill: Session,
    condition: Annotated[str, typer.Argument(metavar="FILTER", help="Condition that runs must meet.")],
    sort: Sort = None,
    columns: Columns = None,
    experiment: Experiment = None,
    limit: Limit = 100,
) -> None:
    """List the runs that meet a condition.

    Example: mill run search "metrics.acc > 0.9 and params.lr = '0.1' and tags.team like '%vision%'"
    """
    _show_runs(mill, columns, experiment=experiment, filter=condition, sort=sort, at_most=limit)


def _show_runs(mill: Session, columns: str | None, **asked: Any) -> None:
    shown: list[Column[Run]] = [
        ("RUN", lambda r: r.id),
        ("NAME", lambda r: r.name),
        ("EXPERIMENT", lambda r: r.experiment),
        ("STATE", lambda r: r.job_state or r.state),
        ("USER", lambda r: r.created_by),
        ("STARTED", lambda r: r.started_at),
    ]
    if columns is None:
        shown.append(("METRICS", lambda r: _pairs(r.metrics)))
    else:
        shown += [(name, partial(_cell, column=name)) for name in split_columns(columns)]
    found = list(list_runs(mill.api, project=mill.project, columns=columns, **asked))
    mill.out.items(found, shown, empty="" if found else _why_none(mill, **asked))


def _why_none(mill: Session, *, experiment: str | None = None, deleted: bool = False, **narrowed: Any) -> str:
    if deleted:
        return "No runs in the bin match." if experiment or narrowed["filter"] else "No runs in the bin."
    if experiment is not None:
        known = [str(group.value) for group in group_runs(mill.api, "experiment", project=mill.project)]
        if experiment not in known:
            near = difflib.get_close_matches(experiment, known, n=1, cutoff=0.5)
            return f"No runs of an experiment {experiment!r}." + (f" Did you mean {near[0]!r}?" if near else "")
    if experiment is not None or narrowed["filter"] or narrowed.get("parent"):
        return "No runs match."
    return "No runs yet. Submit a job, or call millpond.init() in a script."


@command(app, "groups")
def groups(
    mill: Session,
    by: Annotated[
        str, typer.Argument(metavar="FIELD", help="What to group by: params.lr, tags.team, experiment, state.")
    ],
    filter: Filter = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help='Metrics to sum up, like "metrics.acc, min(metrics.loss)".')
    ] = None,
    experiment: Experiment = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of groups.", min=1)] = 100,
) -> None:
    """Count runs by a parameter, tag or attribute, with the mean of metrics, the largest groups first.

    Example: mill run groups params.lr --columns "metrics.acc, min(metrics.loss)"
    """
    shown: list[Column[RunGroup]] = [(by.upper(), lambda g: g.value), ("RUNS", lambda g: g.runs)]
    shown += [(f"MEAN {name}", partial(_mean, column=name)) for name in _written(columns or "")]
    mill.out.items(
        group_runs(
            mill.api, by, project=mill.project, experiment=experiment, filter=filter, columns=columns, at_most=limit
        ),
        shown,
        empty="No runs match." if filter else "No runs yet. Submit a job, or call millpond.init() in a script.",
    )


@command(app, "compare")
def compare(
    mill: Session,
    runs: RunIds,
    everything: Annotated[bool, typer.Option("--all", help="Show values that do not differ, too.")] = False,
) -> None:
    """Compare parameters, tags and last metrics of runs; only what differs.

    Example: mill run compare 3fa2c1d0 9b01c2aa
    """
    if len(runs) == 1:
        raise BadRequest("One run cannot be compared.", hint=f"Name another one: mill run compare {runs[0]!r} OTHER")
    ids = [find_run(mill.api, mill.project, run).id for run in runs]
    found = compare_runs(mill.api, mill.project, ids)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    rows = [
        (f"{kind} {row.key}", row.values)
        for kind, of_kind in (("param", found.params), ("tag", found.tags), ("metric", found.metrics))
        for row in of_kind
        if row.differs or everything
    ]
    columns: list[Column[tuple[str, list[object]]]] = [("VALUE", lambda row: row[0])]
    columns += [(run.name, partial(_compared, place=place)) for place, run in enumerate(found.runs)]
    mill.out.items(rows, columns, empty="These runs do not differ in parameters, tags or last metrics.")


@command(app, "metrics")
def metrics(
    mill: Session,
    run: RunId,
    keys: Annotated[list[str] | None, typer.Argument(metavar="[KEY]...", help="Only these metrics.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Maximum number of points per metric; more are thinned out.", min=4)
    ] = 1000,
    start: Annotated[int | None, typer.Option(help="Only points from this step on.")] = None,
    end: Annotated[int | None, typer.Option(help="Only points up to this step.")] = None,
) -> None:
    """Print the metrics of a run.

    Example: mill run metrics 3fa2c1d0 loss --start 1000
    """
    found = get_run(mill.api, mill.project, find_run(mill.api, mill.project, run).id)
    check_keys(found, keys or ())
    series = get_metrics(mill.api, mill.project, found.id, keys, limit, start, end)
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
    if thinned := [one.total for one in series.items if len(one.steps) < one.total]:
        mill.out.note(
            f"{format_count(len(thinned), 'metric')} thinned out to at most {limit} points; peaks are kept. "
            "See more with --limit, or a part whole with --start and --end."
        )


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
        list_artifacts(mill.api, mill.project, find_run(mill.api, mill.project, run).id, path),
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
        found_run = find_run(mill.api, mill.project, run)
        found = download_artifacts(mill.api, mill.project, found_run.id, to, path=path, progress=tell(meter))
    if mill.out.as_json:
        mill.out.json({"items": [{**item.model_dump(mode="json"), "file": str(to / item.path)} for item in found]})
        return
    size = format_bytes(sum(item.size for item in found))
    mill.out.note(
        f"Downloaded {format_count(len(found), 'file')}, {size}, to {to}." if found else "This run has no artifacts."
    )


@command(app, "lineage")
def lineage(
    mill: Session,
    run: RunId,
    up: Annotated[bool, typer.Option("--up", help="Only what it was made from.")] = False,
    down: Annotated[bool, typer.Option("--down", help="Only what was made of it.")] = False,
    depth: Annotated[int, typer.Option("--depth", help="Maximum number of steps.", min=1, max=20)] = 4,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of nodes.", min=1, max=2000)] = 200,
) -> None:
    """Show the data and code a run was made from, and what was made of its results.

    Example: mill run lineage 3fa2c1d0 --up
    """
    found = find_run(mill.api, mill.project, run)
    way = "both" if up == down else "up" if up else "down"
    show_graph(mill, get_graph(mill.api, mill.project, run=found.id, direction=way, depth=depth, limit=limit))


@command(app, "upload")
def upload(
    mill: Session,
    folder: Annotated[
        Path | None,
        typer.Argument(help="Spool folder of another machine; all of it is uploaded.", exists=True, file_okay=False),
    ] = None,
    recorded_for: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Upload runs that were recorded for this server.")
    ] = None,
) -> None:
    """Upload what scripts logged while the server was unreachable.

    Example: mill run upload
    """
    of_this_server = "" if folder is None else None
    sent, problems = send_abandoned(mill.api, folder or spool_dir(), recorded_for or of_this_server)
    for problem in problems:
        mill.out.warn(problem)
    elsewhere = waiting_elsewhere(folder or spool_dir(), mill.api.base_url)
    if mill.out.as_json:
        mill.out.json({"sent": sent, "problems": problems, "elsewhere": dict(elsewhere)})
        return
    mill.out.note(f"{format_count(sent, 'run')} uploaded." if sent else "Nothing to upload.")
    for server, count in elsewhere.items():
        mill.out.note(
            f"{format_count(count, 'run')} recorded for {server}. Upload here: mill run upload --from {server}"
        )


def _cell(run: Run, *, column: str) -> Any:
    return value_cell(cell(run, column)) if cell(run, column) is not None else None


def _written(columns: str) -> list[str]:
    return [field.written for field in parse_columns(columns)]


def _mean(group: RunGroup, *, column: str) -> Any:
    found = group.metrics.get(column)
    return None if found is None else found.mean


def _compared(row: tuple[str, list[object]], *, place: int) -> Any:
    value = row[1][place]
    return None if value is None else value_cell(value)


def _pairs(values: dict[str, float]) -> str:
    shown = [f"{key}={value:.4g}" for key, value in sorted(values.items())]
    more = [f"and {len(shown) - _MOST_PAIRS} more"] if len(shown) > _MOST_PAIRS else []
    return " ".join([*shown[:_MOST_PAIRS], *more])
