"""`mill search`: hyperparameter searches, whose trials are jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.sending import Sending, send
from millpond.cli.session import Session
from millpond.client.search_file import read_search
from millpond.client.searches import (
    change_search,
    create_search,
    delete_search,
    dry_run_search,
    get_importance,
    get_search,
    list_searches,
    list_trials,
    search_request,
    wait_for_search,
)
from millpond.client.task_file import Task
from millpond.errors import NotFound
from millpond.model.names import check_name
from millpond.model.quantity import format_count
from millpond.model.search import Method, SearchSpec, SearchState, TrialState, as_text
from millpond.wire.searches import Search, SearchCreate, Trial

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="SEARCH", help="Id or name of the search.")]
_CODES = {SearchState.FAILED: 100, SearchState.CANCELLED: 103}


@command(app, "run")
def run(
    mill: Session,
    file: Annotated[Path, typer.Argument(help="Search file (YAML).")],
    name: Annotated[str | None, typer.Option("--name", help="Name of the search.")] = None,
    no_code: Annotated[bool, typer.Option("--no-code", help="Do not upload the working directory.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the first trials. Start nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the search ends.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Upload the working directory even if it is large.")] = False,
) -> None:
    """Start a search from a file.

    The working directory and the packages are uploaded once; all trials run the same code on the same data.
    With --wait, the exit code is 0 for completed, 100 for failed, 103 for cancelled.

    Example: mill search run search.yaml
    """
    found = read_search(file)
    wanted = name or found.name or found.task.name
    request = search_request(found.spec, name=check_name(wanted, "search") if wanted else None)
    if dry_run:
        _show_preview(mill, request)
        return
    task = found.task
    sent = send(mill, Sending(task.requirements, task.git, code=task.code and not no_code, yes=yes), task)
    spec = replace(found.spec, job=task.request(**sent).spec)
    _start(mill, search_request(spec, name=request.name), wait=wait)


def run_grid(mill: Session, task: Task, given: dict[str, Any], sending: Sending, *, dry_run: bool) -> None:
    """`mill submit --grid`: a search over the values that the command lists by commas."""
    request = _grid(task, given)
    preview = dry_run_search(mill.api, mill.project, request)  # before anything is sent
    if dry_run:
        _show_preview(mill, request)
        return
    mill.out.note(f"The grid has {format_count(preview.max_trials, 'combination')}.")
    _start(mill, _grid(task, {**given, **send(mill, sending, task)}), wait=False)


def _grid(task: Task, given: dict[str, Any]) -> SearchCreate:
    spec = SearchSpec(job=task.request(**given).spec, method=Method.GRID)
    return search_request(spec, name=task.name, command_grid=True)


@command(app, "list")
def list_all(
    mill: Session,
    state: Annotated[SearchState | None, typer.Option("--state", help="Only searches in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most searches to show.", min=1)] = 50,
) -> None:
    """List searches of the project, newest first.

    Example: mill search list --state running
    """
    found = list_searches(mill.api, project=mill.project, state=state.value if state else None, at_most=limit)
    mill.out.items(
        found,
        [
            ("ID", lambda one: one.id),
            ("NAME", lambda one: one.name),
            ("STATE", lambda one: one.state.value),
            ("METHOD", lambda one: one.method.value),
            ("TRIALS", lambda one: f"{one.trials}/{one.max_trials}"),
            ("BEST", _best_value),
            ("CREATED", lambda one: one.created_at),
            ("BY", lambda one: one.created_by),
        ],
        empty="No searches yet. Start one: mill search run FILE",
    )


@command(app, "show")
def show(mill: Session, search: Name) -> None:
    """Show a search: what it does and why, its best trial and the importance of parameters.

    Example: mill search show lr-sweep
    """
    found = get_search(mill.api, mill.project, search)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    important = get_importance(mill.api, mill.project, found.id)
    shares = ", ".join(f"{one.parameter} {one.importance:.0%}" for one in important.items)
    counts = ", ".join(f"{count} {state}" for state, count in found.counts.items() if count)
    mill.out.shape(
        found,
        [
            ("search", found.name),
            ("id", found.id),
            ("state", found.state.value),
            *(("reason", reason) for reason in found.reasons),
            ("method", found.method.value),
            ("objective", ", ".join(f"{one.direction.value} {one.metric}" for one in found.objectives)),
            ("trials", f"{found.trials}/{found.max_trials}" + (f" ({counts})" if counts else "")),
            *(("best", _written(found, trial)) for trial in found.best),
            (
                "importance",
                f"{shares} (share of variance, {format_count(important.trials, 'trial')})" if shares else "",
            ),
            ("created", found.created_at),
            ("by", found.created_by),
            ("ended", found.ended_at),
        ],
    )


@command(app, "trials")
def trials(
    mill: Session,
    search: Name,
    sort: Annotated[
        str, typer.Option("--sort", help="What to sort by: number, value, state, a metric or a parameter.")
    ] = "number",
    desc: Annotated[bool, typer.Option("--desc", help="Largest first.")] = False,
    state: Annotated[TrialState | None, typer.Option("--state", help="Only trials in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most trials to show.", min=1)] = 100,
) -> None:
    """List the trials of a search with their parameters and values.

    Example: mill search trials lr-sweep --sort value
    """
    found = get_search(mill.api, mill.project, search)
    wanted = state.value if state else None
    items = list_trials(mill.api, mill.project, found.id, sort=sort, desc=desc, state=wanted, at_most=limit)
    columns: list[Any] = [("TRIAL", lambda one: one.number), ("STATE", lambda one: one.state.value)]
    for place, objective in enumerate(found.objectives):
        columns.append((objective.metric, _reader(place, objective.metric)))
    for parameter in found.parameters:
        columns.append((parameter.name, lambda one, name=parameter.name: _param(one, name)))
    columns += [("JOB", lambda one: one.job), ("PROBLEM", lambda one: one.problem)]
    mill.out.items(items, columns, empty="No trials yet.", drop=("PROBLEM",))


@command(app, "best")
def best(mill: Session, search: Name) -> None:
    """Show the best trial of a search; of several objectives, all that no other trial beats in everything.

    Example: mill search best lr-sweep
    """
    found = get_search(mill.api, mill.project, search)
    if not found.best:
        why = "it has no objective" if not found.objectives else "no trial has succeeded yet"
        raise NotFound(f"Search {found.name!r} has no best trial: {why}.", hint=f"See: mill search show {found.id}")
    if mill.out.as_json:
        mill.out.items(found.best, [], empty="")
        return
    for trial in found.best:
        mill.out.line(f"{_written(found, trial)}\trun {trial.run}")


@command(app, "pause")
def pause(mill: Session, search: Name) -> None:
    """Start no further trials; those that run go on.

    Example: mill search pause lr-sweep
    """
    _changed(mill, search, "pause", "paused")


@command(app, "resume")
def resume(mill: Session, search: Name) -> None:
    """Resume a paused search. From now on it runs as you.

    Example: mill search resume lr-sweep
    """
    _changed(mill, search, "resume", "resumed")


@command(app, "cancel")
def cancel(mill: Session, search: Name) -> None:
    """End a search and stop its jobs. Everything they made is kept.

    Example: mill search cancel lr-sweep
    """
    _changed(mill, search, "cancel", "cancelled")


@command(app, "delete")
def delete(
    mill: Session,
    search: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Delete the record of a search that has ended. Its jobs and runs stay.

    Example: mill search delete lr-sweep
    """
    mill.confirm(f"Delete the search {search}?", yes=yes)
    delete_search(mill.api, mill.project, search)
    mill.out.note(f"Search {search} deleted. Its jobs and runs stay.")


def _start(mill: Session, request: SearchCreate, *, wait: bool) -> None:
    search = create_search(mill.api, mill.project, request)
    mill.out.note(f"Search {search.name} ({search.id}) started. See: mill search show {search.id}")
    if wait:
        search = wait_for_search(mill.api, mill.project, search.id, changed=lambda one: _say(mill, one))
    if mill.out.as_json:
        mill.out.shape(search, [])
    elif not wait and not mill.out.for_people:
        mill.out.line(search.id)
    for reason in search.reasons if wait else ():
        mill.out.note(reason)
    if wait and search.state in _CODES:
        raise typer.Exit(_CODES[search.state])


def _say(mill: Session, search: Search) -> None:
    counts = ", ".join(f"{count} {state}" for state, count in search.counts.items() if count)
    mill.out.note(f"{search.state.value}: {counts or 'no trials yet'}")


def _show_preview(mill: Session, request: SearchCreate) -> None:
    found = dry_run_search(mill.api, mill.project, request)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    total = "without end" if found.combinations is None else f"{found.combinations:,}"
    mill.out.note(f"Combinations: {total}. At most {format_count(found.max_trials, 'trial')}. The first ones:")
    for trial in found.first:
        mill.out.line(" ".join(trial.command))


def _changed(mill: Session, search: str, verb: str, done: str) -> None:
    found = change_search(mill.api, mill.project, search, verb)
    mill.out.note(f"Search {found.name} ({found.id}) {done}.")
    if mill.out.as_json:
        mill.out.shape(found, [])


def _best_value(search: Search) -> str | None:
    return ", ".join(f"{value:.6g}" for value in search.best[0].values) if search.best else None


def _written(search: Search, trial: Trial) -> str:
    values = ", ".join(f"{one.metric} {value:.6g}" for one, value in zip(search.objectives, trial.values, strict=False))
    params = ", ".join(f"{name}={as_text(value)}" for name, value in trial.params.items())
    return f"trial {trial.number}: {values} ({params})"


def _reader(place: int, metric: str) -> Any:
    return lambda trial: trial.values[place] if len(trial.values) > place else trial.newest.get(metric)


def _param(trial: Trial, name: str) -> str | None:
    return as_text(trial.params[name]) if name in trial.params else None
