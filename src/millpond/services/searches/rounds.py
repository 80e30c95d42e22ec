"""Advances searches: observe trials → end, prune or stop → choose the next → submit them (docs/design/018).

What is decided outside a transaction is written only if the search has the revision it was decided on; a trial gets its
job in the transaction that inserts the job. So servers may do this at the same time, and die at any moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import actors, projects, searches, trials, users
from millpond.decide.searches.best import best_of
from millpond.decide.searches.commands import job_of
from millpond.decide.searches.outcomes import cancelled
from millpond.decide.searches.rounds import RoundPlan, plan_round
from millpond.decide.searches.sampling import next_params
from millpond.errors import Forbidden, MillError, NameTaken
from millpond.model.job import Job
from millpond.model.people import Actor, Project, Role
from millpond.model.run import Run
from millpond.model.search import Search, SearchState, Trial, TrialState
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.people import access
from millpond.services.searches import observing
from millpond.services.searches.searches import announce

logger = getLogger(__name__)
_LONGEST_NAME = 63


class _NotWaiting(Exception):
    """Another server submitted the trial, or the search was paused or cancelled."""


@dataclass(frozen=True, slots=True)
class _Result:
    """The search and its trials after a round, and what it starts."""

    search: Search
    trials: Sequence[Trial]
    plan: RoundPlan


def advance_all(deps: Deps, now: datetime) -> None:
    """One round of every open search. A search that raises holds no other back."""
    with deps.db.read() as tx:
        waiting = searches.open_ids(tx)
    for search_id in waiting:
        try:
            advance(deps, search_id, now)
        except Exception:  # the edge of a search: the others go on
            logger.exception("search_failed search=%s", search_id)


def advance(deps: Deps, search_id: str, now: datetime) -> None:
    with deps.db.read() as tx:
        search = searches.get(tx, search_id)
        known = trials.of_search(tx, search_id)
    if search is None:
        return
    seen = observing.observe(deps, search, known, now)
    result = _decided(search, seen, now)
    fresh = _chosen(search, seen, result.plan, now)
    if result.plan.start and not fresh:
        result = _decided(search, seen, now, exhausted=True)
    changed = [after for before, after in zip(known, result.trials, strict=True) if after != before]
    if (changed or fresh or result.search != search) and not _write(deps, search, result.search, changed, fresh):
        return
    observing.stop_jobs(deps, search, result.trials)
    _submit_waiting(deps, search_id)


def _decided(search: Search, seen: Sequence[Trial], now: datetime, *, exhausted: bool = False) -> _Result:
    plan = plan_round(search, seen, now, exhausted=exhausted)
    if plan.ends is not None:
        search = replace(search, state=plan.ends, ended_at=now)
    if plan.stops:
        seen = [trial if trial.state.is_finished else cancelled(trial, plan.reasons[0], now) for trial in seen]
    best = tuple(trial.number for trial in best_of(search.spec.objectives, seen))
    is_open = not search.state.is_finished or not all(trial.is_settled for trial in seen)
    return _Result(replace(search, reasons=plan.reasons, best=best, is_open=is_open), seen, plan)


def _chosen(search: Search, known: Sequence[Trial], plan: RoundPlan, now: datetime) -> list[Trial]:
    chosen = next_params(search.spec, known, plan.start) if plan.start else []
    return [Trial(search.id, len(known) + place, params, now) for place, params in enumerate(chosen)]


def _write(deps: Deps, before: Search, after: Search, changed: Sequence[Trial], fresh: Sequence[Trial]) -> bool:
    """False if somebody else changed the search meanwhile: then nothing is written."""
    with deps.db.write() as tx:
        current = searches.lock(tx, before.id)
        if current is None or current.revision != before.revision:
            return False
        for trial in changed:
            trials.save(tx, trial)
        trials.insert(tx, fresh)
        searches.save(tx, after)
    announce(deps, after)
    if after.state is not before.state:
        logger.info("search_ended search=%s state=%s reason=%s", after.id, after.state.value, after.reasons[0])
    return True


def _submit_waiting(deps: Deps, search_id: str) -> None:
    """Submit every waiting trial. One that cannot be submitted pauses the search."""
    with deps.db.read() as tx:
        search = searches.get(tx, search_id)
        project = projects.get(tx, search.project_id) if search else None
        waiting = trials.of_search(tx, search_id, TrialState.WAITING)
    if search is None or project is None or search.state is not SearchState.RUNNING or not waiting:
        return
    try:
        actor = _actor(deps, search, project)
        for trial in waiting:
            _submit(deps, actor, project, search, trial)
    except _NotWaiting:
        return
    except MillError as error:
        hint = f" {error.hint}" if error.hint else ""
        _pause(deps, search, f"Cannot submit a trial: {error.message}{hint}")


def _submit(deps: Deps, actor: Actor, project: Project, search: Search, trial: Trial) -> None:
    def take(tx: Connection, job: Job, run: Run) -> None:
        now = searches.lock(tx, search.id)
        running = now is not None and now.state is SearchState.RUNNING
        if not running or not trials.take(tx, trial, job_id=job.id, run_id=run.id):
            raise _NotWaiting

    spec = job_of(search, trial)
    name = f"{search.name}-{trial.number}"
    try:
        submit.enqueue(deps, actor, project, spec, name=name[:_LONGEST_NAME], also=take)
    except NameTaken:
        other = f"{search.name[:40]}-{search.id[:6]}-{trial.number}"
        submit.enqueue(deps, actor, project, spec, name=other, also=take)


def _actor(deps: Deps, search: Search, project: Project) -> Actor:
    """Whoever created or resumed the search, with the role they have now."""
    with deps.db.read() as tx:
        user = users.get(tx, search.user_id)
        actor = actors.of_user(tx, user) if user is not None and user.disabled_at is None else None
    if actor is None:
        raise Forbidden(
            "The user that this search runs as no longer exists or cannot sign in.",
            hint=f"Somebody else can take it over: mill search resume {search.id}",
        )
    access.require(actor, project, Role.MEMBER)
    return actor


def _pause(deps: Deps, search: Search, why: str) -> None:
    with deps.db.write() as tx:
        before = searches.lock(tx, search.id)
        if before is None or before.state is not SearchState.RUNNING:
            return
        hint = f"Go on once that is fixed: mill search resume {search.id}"
        after = replace(before, state=SearchState.PAUSED, reasons=(why, hint))
        searches.save(tx, after)
    logger.warning("search_paused search=%s reason=%s", search.id, why)
    announce(deps, after)
