"""Hyperparameter searches: create, list, look, pause, resume, cancel, delete; their trials."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Member, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import searches as shapes
from millpond.decide.searches.importance import METHOD
from millpond.model.search import SearchSpec, SearchState, TrialState
from millpond.services.searches import results, searches
from millpond.wire import searches as wire
from millpond.wire.base import Page

router = APIRouter(tags=["searches"])

_SEARCH = "/projects/{project}/searches/{search}"
# Charts show all trials of a usual search at once.
TrialLimit = Annotated[int, Query(ge=1, le=1000, description="Most trials to return.")]


@router.get("/searches")
def list_searches(
    actor: SignedIn,
    deps: DepsOf,
    project: str | None = None,
    state: Annotated[list[SearchState] | None, Query()] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Search]:
    """Of all projects one may see, newest first; `state` may be given several times."""
    found = searches.list_searches(deps, actor, project=project, states=state, limit=limit, cursor=cursor)
    return page(found, shapes.search)


@router.post("/projects/{project}/searches", status_code=201)
def create_search(body: wire.SearchCreate, scope: Member, deps: DepsOf) -> wire.Search:
    """Start a search. Its data is resolved to commits now; every trial is a job."""
    return shapes.search(searches.create(deps, scope.actor, scope.project, _spec(body), name=body.name))


@router.post("/projects/{project}/searches/dry-run")
def dry_run_search(body: wire.SearchCreate, scope: Member, deps: DepsOf) -> wire.SearchPreview:
    """How many combinations there are, and the first commands; nothing is started."""
    return shapes.preview(searches.preview(deps, scope.actor, scope.project, _spec(body)))


@router.get(_SEARCH)
def get_search(search: str, scope: Viewer, deps: DepsOf) -> wire.Search:
    """`search` is an id, the beginning of one, or a name: then the newest of that name."""
    return shapes.search(searches.get(deps, scope.project, search))


@router.get(f"{_SEARCH}/trials")
def list_trials(
    search: str,
    scope: Viewer,
    deps: DepsOf,
    state: Annotated[list[TrialState] | None, Query()] = None,
    sort: Annotated[
        str, Query(max_length=250, description="number, value, state, a metric, or a parameter.")
    ] = "number",
    desc: bool = False,
    limit: TrialLimit = 100,
    cursor: Cursor = None,
) -> Page[wire.Trial]:
    """Trials with parameters and values; those without the value that is sorted by come last."""
    found = results.list_trials(
        deps, scope.project, search, states=state, sort=sort, descending=desc, limit=limit, cursor=cursor
    )
    return page(found, shapes.trial)


@router.get(f"{_SEARCH}/trials/{{number}}")
def get_trial(search: str, number: int, scope: Viewer, deps: DepsOf) -> wire.Trial:
    return shapes.trial(results.get_trial(deps, scope.project, search, number))


@router.get(f"{_SEARCH}/importance")
def get_importance(
    search: str, scope: Viewer, deps: DepsOf, metric: Annotated[str | None, Query(max_length=250)] = None
) -> wire.SearchImportance:
    """How important each parameter is for an objective: the first, or the one whose metric is named."""
    objective, count, found = results.importance_of(deps, scope.project, search, metric)
    items = [wire.ParameterImportance(parameter=one.parameter, importance=one.value) for one in found]
    return wire.SearchImportance(objective=objective, method=METHOD, trials=count, items=items)


@router.post(f"{_SEARCH}/pause")
def pause_search(search: str, scope: Member, deps: DepsOf) -> wire.Search:
    """Start no further trials; those that run go on."""
    return shapes.search(searches.pause(deps, scope.actor, scope.project, search))


@router.post(f"{_SEARCH}/resume")
def resume_search(search: str, scope: Member, deps: DepsOf) -> wire.Search:
    """Go on. From now on it acts for whoever resumed it."""
    return shapes.search(searches.resume(deps, scope.actor, scope.project, search))


@router.post(f"{_SEARCH}/cancel")
def cancel_search(search: str, scope: Member, deps: DepsOf) -> wire.Search:
    """End it and stop its jobs. What they made is kept."""
    return shapes.search(searches.cancel(deps, scope.actor, scope.project, search))


@router.delete(_SEARCH, status_code=204)
def delete_search(search: str, scope: Member, deps: DepsOf) -> None:
    """Delete the record of a search that has ended. Its jobs and runs stay."""
    searches.delete(deps, scope.actor, scope.project, search)


def _spec(body: wire.SearchCreate) -> SearchSpec:
    spec = shapes.spec(body)
    return searches.with_listed_values(spec) if body.command_grid else spec
