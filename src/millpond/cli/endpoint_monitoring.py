"""`mill endpoint labels`, `quality` and `replay`: what the request log says about an endpoint's models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.endpoint_arguments import EndpointName
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.errors import Conflict
from millpond.model.endpoint_analysis import AnalysisState
from millpond.model.quantity import DAY, format_count, parse_seconds
from millpond.wire.endpoint_analyses import Replay

if TYPE_CHECKING:
    from millpond.client.monitoring.replaying import ReplayReport

app = typer.Typer()

_MOST_SECONDS = 3650 * DAY


@command(app, "labels")
def labels(
    mill: Session,
    endpoint: EndpointName,
    file: Annotated[Path, typer.Argument(help="Table (.csv, .parquet, .jsonl) with columns request_id and label.")],
) -> None:
    """Add labels for logged requests. They are committed beside the log, in the folder labels of its dataset.

    The id of a request is the header mill-request-id of its answer. Of several labels for a request the newest counts.

    Example: mill endpoint labels xray diagnoses.csv
    """
    # Imported here: numpy takes longer to load than most commands take.
    from millpond.client.monitoring.labels import add_labels  # noqa: PLC0415

    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    commit, count = add_labels(mill.api, found, file)
    if mill.out.as_json:
        mill.out.json({"endpoint": found.name, "labels": count, "commit": commit.model_dump(mode="json")})
        return
    mill.out.line(commit.id)
    mill.out.note(f"{format_count(count, 'label')} added. See: mill endpoint quality {found.name}")


@command(app, "quality")
def quality(
    mill: Session,
    endpoint: EndpointName,
    since: Annotated[str, typer.Option(metavar="TIME", help="How far to look back, like 12h or 7d.")] = "7d",
    output: Annotated[str | None, typer.Option(help="Output that labels are for (default: the only one).")] = None,
) -> None:
    """Show how often logged answers were right, by version. Needs a full log, and labels.

    Classes have an accuracy: of outputs with several numbers the largest is the class. Numbers have a mean error.

    Example: mill endpoint quality xray --since 7d
    """
    from millpond.client.monitoring import quality as measured  # noqa: PLC0415 - see labels
    from millpond.serve.monitoring.logged import Window  # noqa: PLC0415

    window = Window.last(parse_seconds(since, least=60, most=_MOST_SECONDS))
    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    rows = [
        {
            "version": one.version,
            "requests": one.requests,
            "labelled": one.labelled,
            "samples": one.samples,
            "accuracy": one.accuracy,
            "mean_error": one.mean_error,
        }
        for one in measured.quality(mill.api, found, window, output=output)
    ]
    columns: list[Column[dict[str, Any]]] = [
        ("VERSION", lambda r: r["version"]),
        ("REQUESTS", lambda r: r["requests"]),
        ("LABELLED", lambda r: r["labelled"]),
        ("SAMPLES", lambda r: r["samples"]),
        ("ACCURACY", lambda r: "" if r["accuracy"] is None else f"{r['accuracy']:.2%}"),
        ("MEAN ERROR", lambda r: "" if r["mean_error"] is None else f"{r['mean_error']:.4g}"),
    ]
    mill.out.items(rows, columns, empty="No logged requests in this time.", drop=["SAMPLES"])


@command(app, "replay")
def replay(
    mill: Session,
    endpoint: EndpointName,
    candidate: Annotated[
        str,
        typer.Option("--on", metavar="MODEL@VERSION|ENDPOINT", help="Version to ask, or an endpoint that serves it."),
    ],
    since: Annotated[str, typer.Option(metavar="TIME", help="How far to look back, like 12h or 7d.")] = "1d",
    version: Annotated[int | None, typer.Option(help="Only requests that this version answered.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most requests to ask again.", min=1)] = 1000,
    template: Annotated[
        str | None, typer.Option(help="Template or queue that the job runs on, for a MODEL@VERSION.")
    ] = None,
    site: Annotated[str | None, typer.Option(help="Site that the job runs at, for a MODEL@VERSION.")] = None,
) -> None:
    """Ask a candidate logged requests again, and compare its answers with those given. Needs a full log.

    A version is loaded by a job that reads the log near it; the same replay of the same log is done once. An endpoint
    is asked from here, through the server. Kept as a run of the experiment replay-ENDPOINT. Answers agree if the class
    is the same, or the number to 0.1 %.

    Example: mill endpoint replay xray --on chest-xray@5 --since 1d
    """
    seconds = parse_seconds(since, least=60, most=_MOST_SECONDS)
    if "@" in candidate:
        started = calls.start_replay(
            mill.api, mill.project, endpoint, candidate, since_seconds=seconds, version=version, most=limit,
            on=template, site=site,
        )  # fmt: skip
        if started.state is AnalysisState.RUNNING:
            mill.out.note(f"Replaying as job {started.job}.")
        _show_replay(mill, calls.wait_for_replay(mill.api, mill.project, endpoint, started))
        return
    from millpond.client.monitoring import replaying  # noqa: PLC0415 - see labels
    from millpond.serve.monitoring.logged import Window  # noqa: PLC0415

    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    other = calls.get_endpoint(mill.api, mill.project, candidate)
    report = replaying.replay(mill.api, found, other, Window.last(seconds), version=version, most=limit)
    names = ("requests", "of", "skipped", "failed", "failure", "samples", "agreement", "largest_difference")
    told = {name: getattr(report, name) for name in (*names, "ms", "logged_ms")}
    if mill.out.as_json:
        mill.out.json({"endpoint": report.endpoint, "candidate": report.candidate, "run": report.run_id, **told})
        return
    _show_agreement(mill, report, report.run_id)


def _show_replay(mill: Session, replay: Replay) -> None:
    if mill.out.as_json:
        mill.out.json(replay.model_dump(mode="json"))
    elif replay.state is AnalysisState.DONE:
        _show_agreement(mill, replay, replay.run or "")
        if replay.different:
            more = " …" if len(replay.different) > 5 else ""
            mill.out.note(f"Other answers for requests {', '.join(replay.different[:5])}{more}")
    if replay.state is AnalysisState.FAILED:
        raise Conflict(f"The replay failed: {replay.error}", hint=f"See: mill logs {replay.job}")


def _show_agreement(mill: Session, report: Replay | ReplayReport, run_id: str) -> None:
    agreed = "nothing to compare" if report.agreement is None else f"{report.agreement:.2%} agree"
    mill.out.line(f"{report.requests} of {format_count(report.of, 'logged request')} asked again: {agreed}.")
    mill.out.line(f"Largest difference {report.largest_difference:.4g}.")
    if report.ms is not None and report.logged_ms is not None:
        mill.out.line(f"Median {report.ms:.2f} ms, {report.logged_ms:.2f} ms then.")
    if report.failed:
        mill.out.warn(f"{format_count(report.failed, 'request')} failed: {report.failure}")
    if report.skipped:
        mill.out.note(f"{format_count(report.skipped, 'request')} skipped: not all of their inputs are logged.")
    mill.out.note(f"Kept as run {run_id}. See: mill run show {run_id}")
