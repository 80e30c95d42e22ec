"""Runs and their metrics, over the API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from millpond.client.http import Api, segment
from millpond.client.paths import run_path
from millpond.model.run_query import written_text
from millpond.wire.points import MEDIA_TYPE
from millpond.wire.runs import (
    Comparison,
    Run,
    RunCreate,
    RunDetails,
    RunEdit,
    RunGroup,
    RunsAsked,
    Series,
    SeriesList,
    SeriesPage,
)


def list_runs(
    api: Api,
    *,
    project: str | None = None,
    experiment: str | None = None,
    parent: str | None = None,
    deleted: bool = False,
    filter: str | None = None,
    sort: str | None = None,
    columns: str | None = None,
    at_most: int | None = None,
) -> Iterator[Run]:
    """Newest first unless sorted otherwise. Without `columns`, all parameters, tags and metrics come along."""
    return api.items(
        "/runs", Run, project=project, experiment=experiment, parent=parent, deleted=deleted or None, filter=filter,
        sort=sort, columns=columns, at_most=at_most,
    )  # fmt: skip


def group_runs(
    api: Api,
    by: str,
    *,
    project: str | None = None,
    experiment: str | None = None,
    filter: str | None = None,
    columns: str | None = None,
    at_most: int | None = None,
) -> Iterator[RunGroup]:
    """The largest groups first; metrics among `columns` are summed up over each."""
    return api.items(
        "/runs/groups", RunGroup, by=by, project=project, experiment=experiment, filter=filter, columns=columns,
        at_most=at_most,
    )  # fmt: skip


def find_run(api: Api, project: str, written: str, *, unique: bool = False) -> Run:
    """The run with this id, beginning of an id, or name; with `unique`, Conflict if several have the name."""
    return api.get(f"/projects/{segment(project)}/runs/find", Run, run=written, unique=unique or None)


def find_unfinished(api: Api, project: str, name: str | None, experiment: str) -> Run | None:
    """The newest run of this name that has not succeeded and belongs to no job; without a name, of any."""
    conditions = ["status != 'FINISHED'", "job is null", f"experiment = {written_text(experiment)}"]
    if name is not None:
        conditions.append(f"name = {written_text(name)}")
    return next(list_runs(api, project=project, filter=" and ".join(conditions), at_most=1), None)


def create_run(api: Api, project: str, request: RunCreate) -> Run:
    """With an id of the caller's own, asking twice is one run."""
    path = f"/projects/{segment(project)}/runs"
    return api.send("POST", path, Run, request, idempotent=request.id is not None)


def get_run(api: Api, project: str, run: str) -> RunDetails:
    return api.get(run_path(project, run), RunDetails)


def edit_run(api: Api, project: str, run: str, change: RunEdit) -> RunDetails:
    return api.send("PATCH", run_path(project, run), RunDetails, change)


def compare_runs(api: Api, project: str, runs: Sequence[str]) -> Comparison:
    path = f"/projects/{segment(project)}/runs/compare"
    return api.send("POST", path, Comparison, RunsAsked(runs=list(runs)), idempotent=True)


def delete_run(api: Api, project: str, run: str) -> Run:
    return api.send("DELETE", run_path(project, run), Run)


def undelete_run(api: Api, project: str, run: str) -> Run:
    return api.send("POST", f"{run_path(project, run)}/undelete", Run)


def send_batch(api: Api, project: str, run: str, batch: Mapping[str, Any]) -> None:
    """Send a `RunBatch`. One sent twice counts once: it carries its writer and number."""
    body = json.dumps(batch, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json"}
    api.request("POST", f"{run_path(project, run)}/batch", body=body, headers=headers, idempotent=True)


def send_points(api: Api, project: str, run: str, body: bytes) -> None:
    """Send a batch of nothing but points (wire/points.py). BadRequest from a server that knows `RunBatch` only."""
    headers = {"Content-Type": MEDIA_TYPE}
    api.request("POST", f"{run_path(project, run)}/batch", body=body, headers=headers, idempotent=True)


def get_metrics(
    api: Api, project: str, run: str, keys: Sequence[str] | None = None, limit: int | None = None,
    start: int | None = None, end: int | None = None,
) -> SeriesList:  # fmt: skip
    path = f"{run_path(project, run)}/metrics"
    return api.get(path, SeriesList, key=list(keys) if keys else None, limit=limit, start=start, end=end)


def metric_history(api: Api, project: str, run: str, key: str) -> Iterator[Series]:
    """Every point of a metric, in pages of a series each."""
    cursor: str | None = None
    while True:
        path = f"{run_path(project, run)}/metrics/history"
        page = api.get(path, SeriesPage, key=key, limit=25_000, cursor=cursor)
        yield from page.items
        cursor = page.next
        if cursor is None:
            return
