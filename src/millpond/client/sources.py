"""Imports into datasets, once or on a schedule, over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from millpond.client.commits import COMMIT_SECONDS
from millpond.client.http import Api, segment
from millpond.client.paths import dataset_path
from millpond.wire.imports import Import, Imported, Source, SourceChange, SourceCreate

_POLL_SECONDS = 1.0


def import_objects(api: Api, project: str, dataset: str, asked: Import) -> Imported:
    """Register objects that lie elsewhere. Asked again, it finds what is done already."""
    path = f"{dataset_path(project, dataset)}/imports"
    return api.send("POST", path, Imported, asked, idempotent=True, timeout=COMMIT_SECONDS)


def list_sources(api: Api, project: str, dataset: str | None = None) -> Iterator[Source]:
    return api.items(_path(project), Source, dataset=dataset)


def get_source(api: Api, project: str, name: str) -> Source:
    return api.get(_path(project, name), Source)


def create_source(api: Api, project: str, asked: SourceCreate) -> Source:
    return api.send("POST", _path(project), Source, asked)


def change_source(api: Api, project: str, name: str, asked: SourceChange) -> Source:
    return api.send("PATCH", _path(project, name), Source, asked, idempotent=True)


def run_source(api: Api, project: str, name: str) -> Source:
    """Let it run now; it has not run yet when this returns."""
    return api.send("POST", f"{_path(project, name)}/run", Source, idempotent=True)


def wait_for_run(api: Api, before: Source, *, sleep: Callable[[float], None] = time.sleep) -> Source:
    """The source when a run that began after `before` has ended, well or not."""
    while True:
        now = get_source(api, before.project, before.id)
        if now.state != "running" and now.ended_at is not None and now.ended_at != before.ended_at:
            return now
        sleep(_POLL_SECONDS)


def delete_source(api: Api, project: str, name: str) -> None:
    api.request("DELETE", _path(project, name))


def _path(project: str, name: str | None = None) -> str:
    base = f"/projects/{segment(project)}/sources"
    return f"{base}/{segment(name)}" if name is not None else base
