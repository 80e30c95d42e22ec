"""Hyperparameter searches over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from millpond.client.http import Api, segment
from millpond.model.documents import to_document
from millpond.model.search import SearchSpec
from millpond.wire.searches import Search, SearchCreate, SearchImportance, SearchPreview, Trial

POLL_SECONDS = 1.0


def search_request(spec: SearchSpec, *, name: str | None, command_grid: bool = False) -> SearchCreate:
    """A specification as the API takes it."""
    body = {**to_document(spec), "job": to_document(spec.job)}
    return SearchCreate.model_validate({"name": name, "command_grid": command_grid, **body})


def create_search(api: Api, project: str, request: SearchCreate) -> Search:
    return api.send("POST", f"/projects/{segment(project)}/searches", Search, request)


def dry_run_search(api: Api, project: str, request: SearchCreate) -> SearchPreview:
    """What it would run; nothing is started."""
    path = f"/projects/{segment(project)}/searches/dry-run"
    return api.send("POST", path, SearchPreview, request, idempotent=True)


def list_searches(
    api: Api, *, project: str | None = None, state: str | None = None, at_most: int | None = None
) -> Iterator[Search]:
    return api.items("/searches", Search, project=project, state=state, at_most=at_most)


def get_search(api: Api, project: str, search: str) -> Search:
    return api.get(_path(project, search), Search)


def list_trials(
    api: Api, project: str, search: str, *, sort: str = "number", desc: bool = False, state: str | None = None,
    at_most: int | None = None,
) -> Iterator[Trial]:  # fmt: skip
    path = f"{_path(project, search)}/trials"
    return api.items(path, Trial, sort=sort, desc=desc or None, state=state, at_most=at_most)


def get_importance(api: Api, project: str, search: str, metric: str | None = None) -> SearchImportance:
    return api.get(f"{_path(project, search)}/importance", SearchImportance, metric=metric)


def change_search(api: Api, project: str, search: str, verb: str) -> Search:
    """`verb` is pause, resume or cancel; repeating it changes nothing."""
    return api.send("POST", f"{_path(project, search)}/{verb}", Search, idempotent=True)


def delete_search(api: Api, project: str, search: str) -> None:
    api.request("DELETE", _path(project, search))


def wait_for_search(
    api: Api,
    project: str,
    search: str,
    *,
    timeout: float | None = None,
    changed: Callable[[Search], None] | None = None,
) -> Search:
    """The search when it has ended, or after `timeout` seconds. `changed` is told of every new state or count."""
    until = None if timeout is None else time.monotonic() + timeout
    told: object = None
    while True:
        found = get_search(api, project, search)
        if changed is not None and told != (found.state, found.counts):
            told = (found.state, found.counts)
            changed(found)
        if found.ended_at is not None or (until is not None and time.monotonic() >= until):
            return found
        time.sleep(POLL_SECONDS)


def _path(project: str, search: str) -> str:
    return f"/projects/{segment(project)}/searches/{segment(search)}"
