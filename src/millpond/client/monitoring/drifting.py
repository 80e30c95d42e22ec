"""Drift of an endpoint's inputs and outputs: its request log within a window against a commit, kept as a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.client.dataset import Dataset
from millpond.client.http import Api
from millpond.client.monitoring.logged import logged_requests, open_log, table_rows
from millpond.client.monitoring.recording import begin_run
from millpond.client.monitoring.tables import told_as_bad_request
from millpond.errors import BadRequest
from millpond.model.endpoint import drift_experiment
from millpond.model.ids import new_job_id
from millpond.model.names import DatasetRef
from millpond.serve.monitoring.comparing import (
    MOST_ROWS,
    Comparison,
    Sample,
    compare,
    sample_of_requests,
    sample_of_tables,
)
from millpond.serve.monitoring.drift import Drift, DriftLevel
from millpond.serve.monitoring.logged import Window
from millpond.serve.monitoring.tables import Row, is_table
from millpond.wire.endpoints import Endpoint


@dataclass(frozen=True, slots=True)
class DriftReport:
    """`columns` has those that moved most first; `unmatched` are columns of the log that the reference has not."""

    endpoint: str
    reference: str
    window: Window
    found: Comparison
    requests: Sample
    compared: Sample
    run_id: str

    @property
    def columns(self) -> Mapping[str, Drift]:
        return self.found.columns

    @property
    def unmatched(self) -> Sequence[str]:
        return self.found.unmatched

    @property
    def level(self) -> DriftLevel:
        """That of the column that moved most."""
        return self.found.level


def measure_drift(
    api: Api, endpoint: Endpoint, reference: str, window: Window, *, version: int | None = None,
    columns: Sequence[str] = (), most_rows: int = MOST_ROWS,
) -> DriftReport:  # fmt: skip
    """Compare, and keep the result as a run of the experiment `drift-ENDPOINT`.

    `reference` is written `dataset@ref[:path]`: a table, or a request log. `columns` of a table make up the one input,
    in this order.
    """
    written = DatasetRef.parse(reference)
    at = f"@{written.ref}" if written.ref else ""
    with (
        open_log(api, endpoint) as log,
        Dataset(f"{written.project or endpoint.project}/{written.dataset}{at}", server=api.base_url) as data,
    ):
        logged = sample_of_requests(logged_requests(log, endpoint, window, version=version), most_rows)
        requests = logged.columns()
        if not requests.columns:
            raise BadRequest(
                f"No inputs or outputs of endpoint {endpoint.name} were logged in this time.",
                hint="They are kept with log: {level: full} in its endpoint.yaml, and committed every few minutes.",
            )
        with told_as_bad_request():
            compared = sample_of_tables(_rows(data, written.path or ""), most_rows)
            found = compare(logged, compared, columns)
        report = DriftReport(endpoint.name, reference, window, found, requests, compared, new_job_id())
        _record(api, endpoint.project, report, version, (log, data))
    return report


def _rows(data: Dataset, path: str) -> Iterator[Row]:
    if not any(is_table(one.path) for one in data.files(path)):
        raise BadRequest(f"{data.name} has no tables{f' at {path}' if path else ''}.", hint="Parquet and CSV are read.")
    return table_rows(data, path)


def _record(
    api: Api, project: str, report: DriftReport, version: int | None, read: Iterable[Dataset]
) -> None:  # fmt: skip
    with begin_run(api, project, report.run_id, drift_experiment(report.endpoint), read) as run:
        params: dict[str, Any] = {
            "endpoint": report.endpoint, "reference": report.reference, "version": version or "all",
            "since": report.window.since.isoformat(), "until": report.window.until.isoformat(),
            "requests": f"{report.requests.rows} of {report.requests.of}",
            "reference_rows": f"{report.compared.rows} of {report.compared.of}",
        }  # fmt: skip
        run.log_params(params)
        moved = report.found.psi
        run.log_metrics({"psi": moved} | {f"psi/{name}": one.psi for name, one in report.columns.items()})
        run.log_metrics({f"p/{name}": one.p_value for name, one in report.columns.items()})
        # What the server reads: services/endpoints/seen_drift.py.
        run.set_tags(
            {
                "drift": report.level.value,
                "drift.psi": moved,
                "drift.column": report.found.column,
                "drift.version": version or "all",
            }
        )
