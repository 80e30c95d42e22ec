"""Runs and their metrics, over the API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from millpond.client.http import Api, segment
from millpond.client.paths import run_path
from millpond.wire.runs import Run, RunCreate, SeriesList


def list_runs(
    api: Api,
    *,
    project: str | None = None,
    experiment: str | None = None,
    deleted: bool = False,
    at_most: int | None = None,
) -> Iterator[Run]:
    return api.items("/runs", Run, project=project, experiment=experiment, deleted=deleted or None, at_most=at_most)


def create_run(api: Api, project: str, request: RunCreate) -> Run:
    """With an id of the caller's own, asking twice is one run."""
    path = f"/projects/{segment(project)}/runs"
    return api.send("POST", path, Run, request, idempotent=request.id is not None)


def get_run(api: Api, project: str, run: str) -> Run:
    return api.get(run_path(project, run), Run)


def delete_run(api: Api, project: str, run: str) -> Run:
    return api.send("DELETE", run_path(project, run), Run)


def undelete_run(api: Api, project: str, run: str) -> Run:
    return api.send("POST", f"{run_path(project, run)}/undelete", Run)


def send_batch(api: Api, project: str, run: str, batch: Mapping[str, Any]) -> None:
    """Send a `RunBatch`. One sent twice counts once: it carries its writer and number."""
    body = json.dumps(batch, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json"}
    api.request("POST", f"{run_path(project, run)}/batch", body=body, headers=headers, idempotent=True)


def get_metrics(api: Api, project: str, run: str, key: str | None = None, limit: int | None = None) -> SeriesList:
    return api.get(f"{run_path(project, run)}/metrics", SeriesList, key=key, limit=limit)
