"""Runs as tables: rows of plain values for CSV, Parquet and pandas."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from millpond.client import runs as run_requests
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.runs import find_run, list_runs
from millpond.client.saved_views import find_view
from millpond.errors import BadRequest
from millpond.wire.runs import Run, RunGroup

if TYPE_CHECKING:
    import pandas

ATTRIBUTES = (
    "id", "name", "experiment", "state", "created_by", "started_at", "ended_at", "project", "job", "parent",
)  # fmt: skip
_COLUMN = re.compile(r"""(?:`[^`]*`|"[^"]*"|[^,`"])+""")
_VALUES = {"min": "min", "max": "max", "last": "last"}


def runs(
    filter: str | None = None,
    *,
    project: str | None = None,
    experiment: str | None = None,
    sort: str | None = None,
    columns: Sequence[str] | None = None,
    view: str | None = None,
    parent: str | None = None,
    deleted: bool = False,
    limit: int | None = None,
) -> pandas.DataFrame:
    """Runs as a data frame of pandas: attributes, then a column for each parameter, metric and tag, or for `columns`.

    `filter` and `sort` are written as in `mill run list`; `view`, a saved view, fills in what is left out. `parent`
    chooses the runs inside a run, `deleted` those in the bin. Needs pandas: pip install 'millpond[pandas]'.
    """
    frames = load_pandas("millpond.runs()")
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api:
        if view is not None:
            saved = find_view(api, target.project, view)
            experiment, filter = experiment or saved.experiment or None, filter or saved.filter or None
            sort, columns = sort or saved.sort or None, columns or split_columns(saved.columns) or None
        found = list(
            list_runs(
                api, project=target.project, experiment=experiment, filter=filter, sort=sort,
                columns=", ".join(columns) if columns is not None else None, at_most=limit, deleted=deleted,
                parent=find_run(api, target.project, parent).id if parent is not None else None,
            )
        )  # fmt: skip
    names = table_columns(found, columns)
    return frames.DataFrame([table_row(run, names) for run in found], columns=names)


def group_runs(
    by: str,
    filter: str | None = None,
    *,
    columns: Sequence[str] = (),
    project: str | None = None,
    experiment: str | None = None,
    limit: int | None = None,
) -> pandas.DataFrame:
    """Runs counted by a parameter, tag or attribute, the largest groups first, as a data frame of pandas.

    `by` is written like `params.lr`; `columns` are metrics, each with the mean, least and greatest of its group.
    """
    frames = load_pandas("millpond.group_runs()")
    target = resolve_target(project=project)
    asked = ", ".join(columns) or None
    with Api(target.server, target.token) as api:
        found = list(
            run_requests.group_runs(
                api, by, project=target.project, experiment=experiment, filter=filter, columns=asked, at_most=limit
            )
        )
    rows = [
        {by: group.value, "runs": group.runs}
        | {
            f"{what} {name}": getattr(one, what)
            for name, one in group.metrics.items()
            for what in ("mean", "min", "max")
        }
        for group in found
    ]
    return frames.DataFrame(rows, columns=None if rows else [by, "runs"])


def _aggregates(group: RunGroup) -> dict[str, float]:
    kinds = ("mean", "min", "max")
    return {f"{kind} {name}": getattr(one, kind) for name, one in group.metrics.items() for kind in kinds}


def load_pandas(who: str) -> ModuleType:
    """The module. BadRequest, with what to install, where it is not there."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise BadRequest(f"{who} needs pandas.", hint="Run: pip install 'millpond[pandas]'") from error


def split_columns(text: str) -> list[str]:
    """The columns that a text names, with commas between; a comma in quotes belongs to its key."""
    return [part.strip() for part in _COLUMN.findall(text) if part.strip()]


def table_columns(found: Iterable[Run], chosen: Sequence[str] | None = None) -> list[str]:
    """Attributes, then the chosen columns; without any, every parameter, metric and tag that a run has."""
    if chosen is not None:
        return [*ATTRIBUTES, *chosen]
    runs = list(found)
    values = [
        f"{kind}.{key}"
        for kind in ("params", "metrics", "tags")
        for key in sorted({key for run in runs for key in _of(run, kind)})
    ]
    return [*ATTRIBUTES, *values]


def table_row(run: Run, columns: Sequence[str]) -> dict[str, Any]:
    return {name: cell(run, name) for name in columns}


def cell(run: Run, column: str) -> Any:
    """The value that a column has for a run: `params.lr`, `min(metrics.loss)`, `state`; None where it has none."""
    kind, dot, key = column.partition(".")
    if column == "duration":
        return None if run.ended_at is None else (run.ended_at - run.started_at).total_seconds()
    if not dot:
        value = getattr(run, "created_by" if column == "user" else column, None)
        return getattr(value, "value", value)
    if kind == "params":
        value = run.params.get(_bare(key))
        return value if value is None or isinstance(value, bool | int | float | str) else json.dumps(value)
    if kind == "tags":
        return run.tags.get(_bare(key))
    which, bracket, _ = kind.partition("(")
    summary = run.summaries.get(_bare(key.removesuffix(")") if bracket else key))
    return None if summary is None else getattr(summary, _VALUES.get(which, "last") if bracket else "last")


def write_csv(found: Sequence[Run], columns: Sequence[str], target: TextIO) -> None:
    writer = csv.DictWriter(target, columns)
    writer.writeheader()
    for run in found:
        row = table_row(run, columns)
        writer.writerow(
            {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in row.items()}
        )


def write_parquet(found: Sequence[Run], columns: Sequence[str], target: Path) -> None:
    """A column whose values have several types is written as text."""
    try:
        import pyarrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise BadRequest("Writing Parquet needs pyarrow.", hint="Run: pip install 'millpond[pandas]'") from error
    rows = [table_row(run, columns) for run in found]
    arrays = {name: _uniform([row[name] for row in rows]) for name in columns}
    parquet.write_table(pyarrow.table(arrays), target)


def _uniform(values: list[Any]) -> list[Any]:
    kinds = {float if type(value) is int else type(value) for value in values if value is not None}
    if len(kinds) <= 1 and str not in kinds:
        return [float(value) if kinds == {float} and value is not None else value for value in values]
    return [None if value is None else str(value) for value in values]


def _of(run: Run, kind: str) -> Iterable[str]:
    return run.params if kind == "params" else run.tags if kind == "tags" else run.summaries


def _bare(key: str) -> str:
    quote = key[:1]
    return key[1:-1] if quote in ("`", '"') and key.endswith(quote) and len(key) > 1 else key
