"""Drift of an endpoint's inputs and outputs: its request log within a window against a commit, kept as a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from millpond.client.dataset import Dataset
from millpond.client.http import Api
from millpond.client.monitoring.logged import Window, logged_requests, open_log
from millpond.client.monitoring.recording import begin_run
from millpond.client.monitoring.tables import Row, is_table, rows, sampled
from millpond.client.monitoring.values import Array, by_sample, columns_of, tensors_of
from millpond.decide.drift import Drift, DriftLevel, drift_of_categories, drift_of_numbers
from millpond.errors import BadRequest
from millpond.model.endpoint import drift_experiment
from millpond.model.ids import new_job_id
from millpond.model.names import DatasetRef
from millpond.wire.endpoints import Endpoint

MOST_ROWS = 20_000
_SIDES = {"inputs": "request", "outputs": "response"}
_ORDER = (DriftLevel.MUCH, DriftLevel.SOME, DriftLevel.NONE, DriftLevel.UNKNOWN)

# Values by column. Columns of a log begin with `inputs.` or `outputs.`, those of other tables have their own names.
Columns = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Sample:
    """Columns of at most so many rows, of how many there were."""

    columns: Columns
    rows: int
    of: int


@dataclass(frozen=True, slots=True)
class DriftReport:
    """`columns` has those that moved most first; `unmatched` are columns of the log that the reference has not."""

    endpoint: str
    reference: str
    window: Window
    columns: Mapping[str, Drift]
    unmatched: Sequence[str]
    requests: Sample
    compared: Sample
    run_id: str

    @property
    def level(self) -> DriftLevel:
        """That of the column that moved most."""
        return next((one.level for one in self.columns.values()), DriftLevel.UNKNOWN)


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
        requests = _of_requests(logged_requests(log, endpoint, window, version=version), most_rows)
        if not requests.columns:
            raise BadRequest(
                f"No inputs or outputs of endpoint {endpoint.name} were logged in this time.",
                hint="They are kept with log: {level: full} in its endpoint.yaml, and committed every few minutes.",
            )
        compared = _of_tables(_table_rows(data, written.path or ""), most_rows)
        pairs = _paired(requests.columns, compared.columns, columns)
        found = {name: _drift(before, requests.columns[name]) for name, before in pairs.items()}
        if not found:
            raise BadRequest(
                f"No column of {reference} fits the log.",
                hint=f"The log has {_some(requests.columns)}; the reference has {_some(compared.columns)}. "
                "Name the columns that make up the input with --columns.",
            )
        ordered = dict(sorted(found.items(), key=lambda pair: (_ORDER.index(pair[1].level), -pair[1].psi)))
        report = DriftReport(
            endpoint.name, reference, window, ordered, sorted(set(requests.columns) - set(found)), requests, compared,
            new_job_id(),
        )  # fmt: skip
        _record(api, endpoint.project, report, version, (log, data))
    return report


def _table_rows(data: Dataset, path: str) -> Iterator[Row]:
    paths = [one.path for one in data.files(path) if is_table(one.path)]
    if not paths:
        raise BadRequest(f"{data.name} has no tables{f' at {path}' if path else ''}.", hint="Parquet and CSV are read.")
    for one in paths:
        with data.open(one) as file:
            yield from rows(file, one)


def _of_requests(found: Iterable[Row], most: int) -> Sample:
    kept, count = sampled(found, most, _of_request)
    columns: dict[str, list[Array]] = {}
    for one in kept:
        for name, values in one.items():
            columns.setdefault(name, []).append(values)
    return Sample({name: np.concatenate(parts) for name, parts in columns.items()}, len(kept), count)


def _of_request(row: Row) -> dict[str, Array]:
    return {
        f"{side}.{column}": values
        for side, body in _SIDES.items()
        for name, samples in tensors_of(row.get(body), side)
        for column, values in columns_of(name, samples, is_output=side == "outputs")
    }


def _of_tables(found: Iterator[Row], most: int) -> Sample:
    """Of a request log, or of other tables."""
    first = next(found, {})
    every = chain([first], found) if first else found
    if {"request", "response"} <= set(first):
        return _of_requests(every, most)
    kept, count = sampled(every, most, dict)
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(key for row in kept for key in row):
        values = [row[name] for row in kept if row.get(name) is not None]
        try:
            samples = by_sample(np.array(values))
        except ValueError:  # lists of different lengths
            continue
        if samples.size and samples.dtype.kind in "iufbU":
            columns.update(columns_of(name, samples, is_output=True))
    return Sample(columns, len(kept), count)


def _paired(logged: Columns, reference: Columns, columns: Sequence[str]) -> dict[str, Array]:
    """Values of the reference for each column of the log that it has: by name, or in order where there is one input."""
    by_name = {name: reference.get(name, reference.get(name.partition(".")[2])) for name in logged}
    found = {name: values for name, values in by_name.items() if values is not None}
    inputs = [name for name in logged if name.startswith("inputs.")]
    is_one = len({name.partition("[")[0] for name in inputs}) == 1
    if columns or (is_one and not any(name in found for name in inputs)):
        if missing := [name for name in columns if name not in reference]:
            raise BadRequest(f"The reference has no column {missing[0]!r}.", hint=f"It has {_some(reference)}.")
        chosen = list(columns) or [name for name, values in reference.items() if values.dtype.kind in "iuf"]
        if columns and not (is_one and len(chosen) == len(inputs)):
            raise BadRequest(f"{len(chosen)} columns do not make up the inputs {_some(logged)}.")
        if len(chosen) == len(inputs):
            found |= {name: reference[column] for name, column in zip(inputs, chosen, strict=True)}
    return found


def _drift(before: Array, after: Array) -> Drift:
    if before.dtype.kind in "iuf" and after.dtype.kind in "iuf":
        return drift_of_numbers(before.tolist(), after.tolist())
    return drift_of_categories(map(str, before.tolist()), map(str, after.tolist()))


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
        worst = next(iter(report.columns.values()))
        moved = worst.psi if report.level in (DriftLevel.SOME, DriftLevel.MUCH) else 0.0
        run.log_metrics({"psi": moved} | {f"psi/{name}": one.psi for name, one in report.columns.items()})
        run.log_metrics({f"p/{name}": one.p_value for name, one in report.columns.items()})
        # What the server reads: services/endpoints/seen_drift.py.
        run.set_tags(
            {
                "drift": report.level.value,
                "drift.psi": moved,
                "drift.column": next(iter(report.columns)),
                "drift.version": version or "all",
            }
        )


def _some(columns: Columns, most: int = 10) -> str:
    names = list(columns)
    return (", ".join(names[:most]) or "none") + (" …" if len(names) > most else "")
