"""Runs as the wire shows them, and what is asked of them as services take it."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response

from millpond.errors import Invalid
from millpond.model.run import NewRun, RunDetails, RunEdit, RunReport, RunView
from millpond.model.run_groups import RunGroup
from millpond.model.series import Points, Series, Summary
from millpond.wire import runs as wire


def run(view: RunView) -> wire.Run:
    return wire.Run(**_fields(view))


def details(value: RunDetails) -> wire.RunDetails:
    return wire.RunDetails(
        **_fields(value.view),
        notes=value.record.notes,
        origin=dict(value.record.origin),
        inputs=[dict(item) for item in value.record.inputs],
        param_changes={
            key: [wire.ParamChange(value=change.value, until=change.until) for change in changes]
            for key, changes in value.changes.items()
        },
        children=value.children,
    )


def group(value: RunGroup) -> wire.RunGroup:
    return wire.RunGroup(
        value=value.value,
        runs=value.runs,
        filter=value.filter,
        metrics={
            column: wire.RunAggregate(runs=found.runs, mean=found.mean, min=found.least, max=found.greatest)
            for column, found in value.metrics.items()
        },
    )


def comparison(views: Sequence[RunView]) -> wire.Comparison:
    numbers = [{key: wire.written_number(summary.last) for key, summary in view.metrics.items()} for view in views]
    return wire.Comparison(
        runs=[run(view) for view in views],
        params=_rows([view.params for view in views]),
        tags=_rows([view.tags for view in views]),
        metrics=_rows(numbers),
    )


def new_run(body: wire.RunCreate) -> NewRun:
    return NewRun(
        id=body.id, name=body.name, experiment=body.experiment, parent_id=body.parent, params=body.params,
        tags=body.tags, started_at=body.started_at, resume=body.resume,
    )  # fmt: skip


def run_edit(body: wire.RunEdit) -> RunEdit:
    return RunEdit(name=body.name, experiment=body.experiment, notes=body.notes, tags=body.tags)


def run_report(body: wire.RunBatch) -> RunReport:
    """Invalid for a step or time that cannot be stored."""
    return RunReport(
        writer=body.writer, sequence=body.sequence, name=body.name, experiment=body.experiment, params=body.params,
        tags=body.tags, points=_points(body), origin=body.origin, inputs=tuple(body.inputs),
        progress=body.progress, ended=body.ended, ended_at=body.ended_at,
    )  # fmt: skip


def series_list(found: Sequence[Series], following: str | None = None, *, times: bool = True) -> Response:
    """A `wire.SeriesList`, written straight from the columns: a chart of 100 runs is a hundred thousand numbers."""
    items = [
        {
            "run": series.run_id,
            "key": series.key,
            "steps": series.points.steps.tolist(),
            "values": _numbers(series.points.values),
            "times": series.points.times.tolist() if times else [],
            "total": series.total,
        }
        for series in found
    ]
    content = json.dumps({"items": items, "next": following}, separators=(",", ":"), allow_nan=False)
    return Response(content, media_type="application/json")


def _fields(view: RunView) -> dict[str, Any]:
    value = view.run
    return {
        "id": value.id,
        "project": value.project,
        "experiment": value.experiment,
        "name": value.name,
        "job": value.job_id,
        "parent": value.parent_id,
        "state": value.state,
        "job_state": value.job_state,
        "params": dict(view.params),
        "tags": dict(view.tags),
        "metrics": {key: found.last for key, found in view.metrics.items() if math.isfinite(found.last)},
        "summaries": {key: _summary(found) for key, found in view.metrics.items()},
        "created_by": value.created_by,
        "started_at": value.started_at,
        "ended_at": value.ended_at,
        "deleted_at": value.deleted_at,
    }


def _summary(value: Summary) -> wire.MetricSummary:
    return wire.MetricSummary(
        points=value.points, last=value.last, last_step=value.last_step, min=value.least, min_step=value.least_step,
        max=value.greatest, max_step=value.greatest_step,
    )  # fmt: skip


def _rows(values: Sequence[Mapping[str, Any]]) -> list[wire.ComparedRow]:
    keys = sorted({key for one in values for key in one})
    return [_row(key, [one.get(key) for one in values]) for key in keys]


def _row(key: str, found: list[Any]) -> wire.ComparedRow:
    # 1, 1.0 and True are equal in Python; as parameters they are not.
    return wire.ComparedRow(key=key, values=found, differs=len({json.dumps(value) for value in found}) > 1)


def _points(body: wire.RunBatch) -> dict[str, Points]:
    """By key, in the order they came."""
    found: dict[str, Points] = {}
    try:
        for part in body.series:
            _add(found, part.key, Points.of(part.steps, map(_number, part.values), part.times))
        for point in body.metrics:
            moment = round(point.at.timestamp() * 1000)
            _add(found, point.key, Points.of([point.step], [_number(point.value)], [moment]))
    except OverflowError as error:
        raise Invalid("Steps and times of metrics must be signed 64-bit integers.", fields=["metrics"]) from error
    return found


def _add(found: dict[str, Points], key: str, points: Points) -> None:
    if key not in found:
        found[key] = points
        return
    found[key].steps.extend(points.steps)
    found[key].values.extend(points.values)
    found[key].times.extend(points.times)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _numbers(values: array[float]) -> Sequence[float | str]:
    return values.tolist() if all(map(math.isfinite, values)) else list(map(wire.written_number, values))
