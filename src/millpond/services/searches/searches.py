"""Searches: create, find, list, pause, resume, cancel and delete them. `rounds.py` advances them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice

from sqlalchemy import Connection

from millpond.db import request_keys, searches, trials
from millpond.decide.searches.check import problems_of
from millpond.decide.searches.commands import grid_of, with_params
from millpond.decide.searches.outcomes import cancelled
from millpond.decide.searches.sampling import next_params
from millpond.decide.searches.space import combinations, most_trials
from millpond.errors import Conflict, Invalid
from millpond.model.ids import new_job_id
from millpond.model.names import check_name
from millpond.model.people import Actor, Project, Role
from millpond.model.search import Method, Search, SearchPreview, SearchSpec, SearchState, SearchView
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment

# Wakes the loop.
TOPIC = "searches"
_SHOWN = 5
_LEAST_PREFIX = 4


def create(deps: Deps, actor: Actor, project: Project, spec: SearchSpec, *, name: str | None = None) -> SearchView:
    """Check everything, resolve the data to commits, and start the search."""
    search_id = new_job_id()
    name = check_name(name, "search") if name is not None else f"search-{search_id[:4]}"
    spec = checked(deps, actor, project, spec)
    search = Search(
        id=search_id, project_id=project.id, project=project.name, name=name, created_by=actor.name,
        user_id=actor.user_id or "", created_at=deps.clock.now(), spec=spec,
        reasons=("Starting.",),
    )  # fmt: skip
    with deps.db.write() as tx:
        searches.insert(tx, search)
        request_keys.note_made(tx, f"/projects/{project.name}/searches/{search.id}")
        _record(tx, deps, actor, search, "search.create")
    announce(deps, search)
    deps.events.wake(TOPIC)
    return _views(deps, [search])[0]


def preview(deps: Deps, actor: Actor, project: Project, spec: SearchSpec) -> SearchPreview:
    """What it would run; nothing is stored."""
    spec = checked(deps, actor, project, spec)
    most = most_trials(spec)
    first = next_params(spec, (), min(_SHOWN, most))
    return SearchPreview(
        combinations(spec.parameters), most, tuple((params, with_params(spec.job, params).command) for params in first)
    )


def checked(deps: Deps, actor: Actor, project: Project, spec: SearchSpec) -> SearchSpec:
    """The specification with its data resolved. Raises Invalid, and what submitting its first trial would raise."""
    problem = next(problems_of(spec), None)
    if problem is not None:
        raise Invalid(problem.message, hint=problem.hint, fields=[".".join(map(str, problem.path))])
    spec = replace(spec, job=submit.fixed(deps, actor, project, spec.job))
    for params in islice(next_params(spec, (), 1), 1):
        submit.check(deps, actor, project, with_params(spec.job, params))
    return spec


def with_listed_values(spec: SearchSpec) -> SearchSpec:
    """A grid over the values that the command lists by commas, beside the parameters that are given."""
    command, listed = grid_of(spec.job.command)
    if not listed and not spec.parameters:
        raise Invalid(
            "The command lists no values.", hint="Write several values of an option: --lr 0.1,0.01",
            fields=["job.command"],
        )  # fmt: skip
    return replace(
        spec, job=replace(spec.job, command=command), parameters=(*spec.parameters, *listed), method=Method.GRID
    )


def find(tx: Connection, project: Project, written: str, *, unique: bool = False) -> Search:
    """By id, name (the newest of that name) or the beginning of an id.

    With `unique`, for what changes it: the one of that name that has not ended, Conflict if that is not one.
    """
    found = searches.get(tx, written)
    if found is not None and found.project_id == project.id:
        return found
    named = searches.named(tx, project.id, written, limit=6)
    if unique and sum(not search.state.is_finished for search in named) != 1 and len(named) > 1:
        ids = [search.id for search in named]
        raise Conflict(f"Several searches are named {written!r}.", hint=f"Use the id: {', '.join(ids)}.", ids=ids)
    if not named and len(written) >= _LEAST_PREFIX and written.isalnum():
        begun = searches.with_prefix(tx, project.id, written, limit=2)
        named = begun if len(begun) == 1 else []
    if not named:
        raise access.not_found("search", written, searches.names(tx, project.id))
    living = [search for search in named if not search.state.is_finished]
    return living[0] if unique and living else named[0]


def get(deps: Deps, project: Project, written: str) -> SearchView:
    with deps.db.read() as tx:
        found = find(tx, project, written)
    return _views(deps, [found])[0]


def list_searches(
    deps: Deps, actor: Actor, *, project: str | None, states: Collection[SearchState] | None, limit: int,
    cursor: str | None,
) -> Listing[SearchView]:  # fmt: skip
    """Of one project, or of all that the actor can see, newest first."""
    with deps.db.read() as tx:
        among = [access.find_project(tx, actor, project, Role.VIEWER).id] if project else access.visible_projects(actor)
        found = searches.page(tx, projects=among, states=states, limit=limit + 1, before=moment_of(cursor))
    return page_of(_views(deps, found), limit, key=lambda view: written_moment(view.search.created_at, view.search.id))


def pause(deps: Deps, actor: Actor, project: Project, written: str) -> SearchView:
    """Start no further trials; those that run go on."""
    return _change(deps, actor, project, written, "search.pause", lambda _, search: _paused(search, actor))


def resume(deps: Deps, actor: Actor, project: Project, written: str) -> SearchView:
    """Go on. From now on it acts for whoever resumed it."""
    return _change(deps, actor, project, written, "search.resume", lambda _, search: _resumed(search, actor))


def cancel(deps: Deps, actor: Actor, project: Project, written: str) -> SearchView:
    """End it and stop its jobs. Everything they made is kept."""

    def ended(tx: Connection, search: Search) -> Search:
        if search.state.is_finished:
            return search
        now, why = deps.clock.now(), f"Cancelled by {actor.name}."
        for trial in trials.of_search(tx, search.id):
            if not trial.state.is_finished:
                trials.save(tx, cancelled(trial, why, now))
        return replace(search, state=SearchState.CANCELLED, reasons=(why,), ended_at=now)

    return _change(deps, actor, project, written, "search.cancel", ended)


def delete(deps: Deps, actor: Actor, project: Project, written: str) -> None:
    """Delete the record of a search that has ended; its jobs and runs stay."""
    with deps.db.write() as tx:
        search = find(tx, project, written, unique=True)
        search = searches.lock(tx, search.id) or search
        if not search.state.is_finished:
            raise Conflict(
                f"Cannot delete search {search.name!r}: it is {search.state.value}.",
                hint=f"Cancel it first: mill search cancel {search.id}",
            )
        if search.is_open:
            raise Conflict(f"Cannot delete search {search.name!r}: its jobs are being stopped.", hint="Try again soon.")
        searches.delete(tx, search.id)
        _record(tx, deps, actor, search, "search.delete")
    announce(deps, search)


def announce(deps: Deps, search: Search) -> None:
    """Tell open pages."""
    data = {"project": search.project, "id": search.id, "what": "changed", "state": search.state.value}
    deps.events.publish("searches", project_id=search.project_id, data=data)


def _paused(search: Search, actor: Actor) -> Search:
    if search.state.is_finished:
        raise Conflict(f"Cannot pause search {search.name!r}: it is {search.state.value}.")
    if search.state is SearchState.PAUSED:
        return search
    return replace(search, state=SearchState.PAUSED, reasons=(f"Paused by {actor.name}.",))


def _resumed(search: Search, actor: Actor) -> Search:
    if search.state.is_finished:
        raise Conflict(
            f"Cannot resume search {search.name!r}: it is {search.state.value}.",
            hint="Start a new one: mill search run FILE",
        )
    if search.state is SearchState.RUNNING:
        return search
    reasons = (f"Resumed by {actor.name}.",)
    return replace(search, state=SearchState.RUNNING, reasons=reasons, user_id=actor.user_id or search.user_id)


def _change(
    deps: Deps, actor: Actor, project: Project, written: str, action: str, apply: Callable[[Connection, Search], Search]
) -> SearchView:  # fmt: skip
    with deps.db.write() as tx:
        found = find(tx, project, written, unique=True)
        before = searches.lock(tx, found.id) or found
        after = apply(tx, before)
        if after != before:
            searches.save(tx, after)
            _record(tx, deps, actor, after, action)
    if after != before:
        announce(deps, after)
        deps.events.wake(TOPIC)
    return _views(deps, [after])[0]


def _views(deps: Deps, found: Sequence[Search]) -> list[SearchView]:
    with deps.db.read() as tx:
        counts = trials.counts(tx, [search.id for search in found])
        best = trials.numbered(tx, {search.id: search.best for search in found})
    return [SearchView(one, counts[one.id], best[one.id], most_trials(one.spec)) for one in found]


def _record(tx: Connection, deps: Deps, actor: Actor, search: Search, action: str) -> None:
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{search.project}/{search.name}",
        project_id=search.project_id, details={"search": search.id},
    )  # fmt: skip
