"""`mill endpoint drift`: how far requests have moved from a reference, by schedule, now, or against any commit."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.endpoint_arguments import EndpointName
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.errors import BadRequest
from millpond.model.endpoint_analysis import AnalysisState
from millpond.model.quantity import DAY, parse_seconds
from millpond.wire.endpoint_analyses import DriftWindow, EndpointDrift

app = typer.Typer()

_MOST_SECONDS = 3650 * DAY
_SHOWN: list[Column[dict[str, Any]]] = [
    ("COLUMN", lambda r: r["column"]),
    ("DRIFT", lambda r: r["level"]),
    ("PSI", lambda r: f"{r['psi']:.3f}"),
    ("P", lambda r: f"{r['p_value']:.2g}"),
    ("REASON", lambda r: r["reason"]),
]


@command(app, "drift")
def drift(
    mill: Session,
    endpoint: EndpointName,
    reference: Annotated[
        str | None,
        typer.Option(metavar="DATASET@REF[:PATH]", help="Tables to compare with here, or a request log: a commit."),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Compare now, as the schedule does, and wait for it.")] = False,
    window: Annotated[str, typer.Option(metavar="TIME", help="How far to look back, like 6h or 7d.")] = "1d",
    version: Annotated[int | None, typer.Option(help="Only requests that this version answered.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of the reference that make up the one input, like age,height.")
    ] = None,
    rows: Annotated[int, typer.Option(help="Most requests, and rows of the reference, to compare.", min=100)] = 20_000,
) -> None:
    """Show how far requests have moved from the reference of the endpoint's schedule, or compare them with another one.

    Without --reference: the newest window that its schedule compared. With it, the log is read here. Needs a full log.

    Each column gets a PSI (below 0.1 nothing, above 0.25 much) and the p-value of Kolmogorov and Smirnov's test, or of
    the chi-squared test for texts. Kept as a run of the experiment drift-ENDPOINT.

    Example: mill endpoint drift xray --reference xray-train@v3:train.parquet --window 7d
    """
    if reference is None:
        _show_schedule(mill, endpoint, now=now)
        return
    if now:
        raise BadRequest("--now compares with the reference of the endpoint.", hint="Leave out --reference.")
    # Imported here: numpy takes longer to load than most commands take.
    from millpond.client.monitoring.drifting import measure_drift  # noqa: PLC0415
    from millpond.serve.monitoring.logged import Window  # noqa: PLC0415

    found = calls.get_endpoint(mill.api, mill.project, endpoint)
    report = measure_drift(
        mill.api, found, reference, Window.last(parse_seconds(window, least=60, most=_MOST_SECONDS)), version=version,
        columns=columns.split(",") if columns else (), most_rows=rows,
    )  # fmt: skip
    listed = [
        {
            "column": name,
            "level": one.level.value,
            "psi": one.psi,
            "statistic": one.statistic,
            "p_value": one.p_value,
            "reason": one.reason,
        }
        for name, one in report.columns.items()
    ]
    if mill.out.as_json:
        told: dict[str, Any] = {"endpoint": report.endpoint, "reference": report.reference, "run": report.run_id}
        told |= {"level": report.level.value, "requests": report.requests.rows, "requests_of": report.requests.of}
        told |= {"reference_rows": report.compared.rows, "reference_rows_of": report.compared.of}
        mill.out.json({**told, "unmatched": list(report.unmatched), "columns": listed})
        return
    mill.out.items(listed, _SHOWN, empty="", drop=["REASON"])
    if report.unmatched:
        mill.out.note(f"Not in the reference: {', '.join(report.unmatched)}")
    _note_sample(mill, report.requests.rows, report.requests.of, report.compared.rows, report.compared.of)
    mill.out.note(f"Kept as run {report.run_id}. See: mill run show {report.run_id}")


def _show_schedule(mill: Session, endpoint: str, *, now: bool) -> None:
    found = _measured(mill, endpoint) if now else calls.endpoint_drift(mill.api, mill.project, endpoint)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    if found.reference is None:
        mill.out.note(
            f"Endpoint {endpoint} has no reference. Add one to its endpoint.yaml: drift: {{reference: DATASET@REF}}. "
            "Or compare here: --reference DATASET@REF"
        )
    if found.newest is not None:
        _show_window(mill, found.newest)
    elif found.reference is not None:
        mill.out.note(f"Nothing was compared yet. Do it now: mill endpoint drift {endpoint} --now")
    if found.pending is not None and found.pending.state is AnalysisState.FAILED:
        mill.out.warn(f"The newest window could not be compared: {found.pending.error}")
    elif found.pending is not None:
        mill.out.note(f"A comparison runs as job {found.pending.job}.")
    if found.next_at is not None:
        mill.out.note(f"The next window is compared at {found.next_at:%Y-%m-%d %H:%M} UTC, if there are requests.")


def _show_window(mill: Session, window: DriftWindow) -> None:
    mill.out.items([one.model_dump() for one in window.columns], _SHOWN, empty="", drop=["REASON"])
    for said in window.alerts:
        mill.out.warn(said)
    mill.out.note(
        f"Requests from {window.since:%Y-%m-%d %H:%M} to {window.until:%H:%M} UTC, compared with {window.reference}."
    )
    if window.unmatched:
        mill.out.note(f"Not in the reference: {', '.join(window.unmatched)}")
    _note_sample(mill, window.requests, window.requests_of, window.reference_rows, window.reference_rows_of)
    if window.run is not None:
        mill.out.note(f"Kept as run {window.run}. See: mill run show {window.run}")


def _measured(mill: Session, endpoint: str) -> EndpointDrift:
    """What a comparison found that was started now."""
    found = calls.measure_endpoint_drift(mill.api, mill.project, endpoint)
    if found.pending is not None:
        mill.out.note(f"Comparing as job {found.pending.job}.")
    while found.pending is not None and found.pending.state is AnalysisState.RUNNING:
        time.sleep(calls.POLL_SECONDS)
        found = calls.endpoint_drift(mill.api, mill.project, endpoint)
    return found


def _note_sample(mill: Session, requests: int, requests_of: int, rows: int, rows_of: int) -> None:
    if requests < requests_of or rows < rows_of:
        mill.out.note(f"Compared a sample: {requests} of {requests_of} requests with {rows} of {rows_of} rows.")
