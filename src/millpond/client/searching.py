"""`millpond.search("search.yaml")`: start a hyperparameter search from Python, as `mill search run` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from millpond.client.credentials import resolve_target
from millpond.client.environment import commit_environment
from millpond.client.http import Api
from millpond.client.search_file import read_search
from millpond.client.searches import (
    change_search,
    create_search,
    get_importance,
    get_search,
    list_trials,
    search_request,
    wait_for_search,
)
from millpond.client.submitting import send_code
from millpond.model.quantity import parse_seconds
from millpond.wire.searches import Search, Trial


def search(
    file: Path | str,
    *,
    name: str | None = None,
    code: Path | str | None = ".",
    server: str | None = None,
    project: str | None = None,
) -> StartedSearch:
    """Start the search that a file describes, with the folder `code` as the code of its jobs (None: no code)."""
    found = read_search(Path(file))
    target = resolve_target(server, project)
    api = Api(target.server, target.token)
    task, given = found.task, {}
    if task.requirements is not None:
        given["environment"] = commit_environment(api, target.project, task.requirements).id
    if code is not None and task.code and "code_commit" not in task.document:
        given |= send_code(api, target.project, task, Path(code).absolute())
    spec = replace(found.spec, job=task.request(**given).spec)
    request = search_request(spec, name=name or found.name or task.name)
    return StartedSearch(api, create_search(api, target.project, request))


class StartedSearch:
    """A search. `search` is its last known state."""

    def __init__(self, api: Api, search: Search) -> None:
        self._api = api
        self.search = search

    @property
    def id(self) -> str:
        return self.search.id

    def refresh(self) -> Search:
        """The search as it is now."""
        self.search = get_search(self._api, self.search.project, self.id)
        return self.search

    @property
    def best(self) -> Sequence[Trial]:
        """The best trial so far; of several objectives, all that no other beats in everything."""
        return self.refresh().best

    def trials(self, *, sort: str = "number", desc: bool = False) -> list[Trial]:
        return list(list_trials(self._api, self.search.project, self.id, sort=sort, desc=desc))

    def importance(self, metric: str | None = None) -> dict[str, float]:
        """By parameter, from 0 to 1."""
        found = get_importance(self._api, self.search.project, self.id, metric)
        return {one.parameter: one.importance for one in found.items}

    def wait(self, timeout: str | None = None) -> Search:
        """The search when it has ended, or after `timeout` (like `90m`)."""
        seconds = None if timeout is None else parse_seconds(timeout)
        self.search = wait_for_search(self._api, self.search.project, self.id, timeout=seconds)
        return self.search

    def pause(self) -> None:
        """Start no further trials; those that run go on."""
        self.search = change_search(self._api, self.search.project, self.id, "pause")

    def resume(self) -> None:
        self.search = change_search(self._api, self.search.project, self.id, "resume")

    def cancel(self) -> None:
        """End it and stop its jobs. Everything they made is kept."""
        self.search = change_search(self._api, self.search.project, self.id, "cancel")
