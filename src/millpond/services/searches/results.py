"""Trials of a search as lists show them, and how important its parameters are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from millpond.db import jobs, metrics, trials
from millpond.decide.searches.importance import importance
from millpond.errors import BadRequest
from millpond.model.people import Project
from millpond.model.search import Importance, Search, Trial, TrialState, TrialView, as_text
from millpond.services.deps import Deps
from millpond.services.listing import Listing, encode, number_of
from millpond.services.people import access
from millpond.services.searches.searches import find


def list_trials(
    deps: Deps, project: Project, written: str, *, states: Collection[TrialState] | None, sort: str, descending: bool,
    limit: int, cursor: str | None,
) -> Listing[TrialView]:  # fmt: skip
    """Sorted by `number`, `value` (of the first objective), `state`, a metric of an objective, or a parameter.

    Those without such a value come last.
    """
    begin = number_of(cursor) or 0
    with deps.db.read() as tx:
        search = find(tx, project, written)
        found = [one for one in trials.of_search(tx, search.id) if states is None or one.state in states]
    found = _sorted(search, found, sort, descending=descending)
    shown = _views(deps, search, found[begin : begin + limit])
    return Listing(shown, encode(begin + limit) if begin + limit < len(found) else None)


def get_trial(deps: Deps, project: Project, written: str, number: int) -> TrialView:
    with deps.db.read() as tx:
        search = find(tx, project, written)
        found = trials.get(tx, search.id, number)
    if found is None:
        raise access.not_found("trial", str(number))
    return _views(deps, search, [found])[0]


def importance_of(
    deps: Deps, project: Project, written: str, metric: str | None
) -> tuple[str | None, int, Sequence[Importance]]:
    """Of one objective, the first unless named: its metric, how many trials counted, and the parameters."""
    with deps.db.read() as tx:
        search = find(tx, project, written)
        found = trials.of_search(tx, search.id)
    names = [objective.metric for objective in search.spec.objectives]
    if metric is not None and metric not in names:
        raise access.not_found("objective", metric, names)
    if not names:
        return None, 0, ()
    place = names.index(metric) if metric is not None else 0
    return names[place], sum(one.is_ranked for one in found), importance(search.spec.parameters, found, place)


def _views(deps: Deps, search: Search, found: Sequence[Trial]) -> list[TrialView]:
    keys = [objective.metric for objective in search.spec.objectives]
    with deps.db.read() as tx:
        known = jobs.by_ids(tx, {one.job_id for one in found if one.job_id})
        living = [one.run_id for one in found if one.run_id and not one.state.is_finished]
        summaries = metrics.summaries(tx, living, keys) if keys else {}
    views = []
    for one in found:
        job = known.get(one.job_id or "")
        newest = {key: summary.last for key, summary in summaries.get(one.run_id or "", {}).items()}
        views.append(
            TrialView(
                one,
                job_state=job.status.state.value if job else None,
                newest={key: value for key, value in newest.items() if math.isfinite(value)},
                started_at=job.status.started_at if job else None,
            )
        )
    return views


def _sorted(search: Search, found: list[Trial], sort: str, *, descending: bool) -> list[Trial]:
    read = _reader(search, sort)
    with_value = [one for one in found if read(one) is not None]
    with_value.sort(key=lambda one: (_ordered(read(one)), one.number), reverse=descending)
    return [*with_value, *(one for one in found if read(one) is None)]


def _reader(search: Search, sort: str) -> Callable[[Trial], object]:
    metrics_of = [objective.metric for objective in search.spec.objectives]
    names = [parameter.name for parameter in search.spec.parameters]
    if sort == "number":
        return lambda trial: trial.number
    if sort == "state":
        return lambda trial: trial.state.value
    if sort.removeprefix("param.") in names:
        return lambda trial: trial.params.get(sort.removeprefix("param."))
    if sort == "value" or sort in metrics_of:
        place = 0 if sort == "value" else metrics_of.index(sort)
        return lambda trial: trial.values[place] if len(trial.values) > place else None
    known = ", ".join(["number", "value", "state", *metrics_of, *names])
    raise BadRequest(f"Cannot sort trials by {sort!r}.", hint=f"Choose one of: {known}.")


def _ordered(value: object) -> tuple[int, float, str]:
    """Numbers before texts."""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, as_text(value)
