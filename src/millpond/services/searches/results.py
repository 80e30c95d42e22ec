"""Trials of a search as lists show them, and how important its parameters are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.db import jobs, metrics, trials
from millpond.decide.searches.importance import importance
from millpond.errors import BadRequest
from millpond.model.people import Project
from millpond.model.search import Importance, Search, Trial, TrialState, TrialView, as_text
from millpond.services.deps import Deps
from millpond.services.listing import Listing, encode, number_of
from millpond.services.people import access
from millpond.services.searches.searches import find


@dataclass(frozen=True, slots=True)
class _Order:
    """Which column trials are sorted by, and what of it."""

    column: trials.SortColumn
    read: Callable[[Any], object]


def list_trials(
    deps: Deps, project: Project, written: str, *, states: Collection[TrialState] | None, sort: str, descending: bool,
    limit: int, cursor: str | None,
) -> Listing[TrialView]:  # fmt: skip
    """Sorted by `number`, `value` (of the first objective), `state`, a metric of an objective, or a parameter.

    Those without such a value come last.
    """
    begin = number_of(cursor) or 0
    end = begin + limit
    with deps.db.read() as tx:
        search = find(tx, project, written)
        order = _order(search, sort)
        keys = [(number, order.read(held)) for number, held in trials.sort_keys(tx, search.id, order.column, states)]
        numbers = _sorted(keys, descending=descending)
        found = trials.some(tx, search.id, numbers[begin:end])
    return Listing(_views(deps, search, found), encode(end) if end < len(numbers) else None)


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
        found = trials.of_search(tx, search.id, TrialState.SUCCEEDED)
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
        known = jobs.progress(tx, {one.job_id for one in found if one.job_id})
        living = [one.run_id for one in found if one.run_id and not one.state.is_finished]
        summaries = metrics.summaries(tx, living, keys) if keys else {}
    views = []
    for one in found:
        job_state, started_at = known.get(one.job_id or "", (None, None))
        newest = {key: summary.last for key, summary in summaries.get(one.run_id or "", {}).items()}
        views.append(
            TrialView(
                one,
                job_state=job_state.value if job_state else None,
                newest={key: value for key, value in newest.items() if math.isfinite(value)},
                started_at=started_at,
            )
        )
    return views


def _sorted(keys: Sequence[tuple[int, object]], *, descending: bool) -> list[int]:
    """The numbers of trials, from those and what they are sorted by."""
    with_value = [(_ordered(value), number) for number, value in keys if value is not None]
    with_value.sort(reverse=descending)
    return [*(number for _, number in with_value), *(number for number, value in keys if value is None)]


def _order(search: Search, sort: str) -> _Order:
    metrics_of = [objective.metric for objective in search.spec.objectives]
    names = [parameter.name for parameter in search.spec.parameters]
    if sort == "number":
        return _Order("number", lambda number: number)
    if sort == "state":
        return _Order("state", lambda state: state)
    if sort.removeprefix("param.") in names:
        return _Order("params", lambda params: params.get(sort.removeprefix("param.")))
    if sort == "value" or sort in metrics_of:
        place = 0 if sort == "value" else metrics_of.index(sort)
        return _Order("value_list", lambda values: values[place] if len(values) > place else None)
    known = ", ".join(["number", "value", "state", *metrics_of, *names])
    raise BadRequest(f"Cannot sort trials by {sort!r}.", hint=f"Choose one of: {known}.")


def _ordered(value: object) -> tuple[int, float, str]:
    """Numbers before texts."""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, as_text(value)
