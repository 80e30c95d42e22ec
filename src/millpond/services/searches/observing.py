"""What the jobs of a search's trials have come to, and stopping those that are not needed any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import jobs, metrics, projects, runs
from millpond.decide import job_life
from millpond.decide.searches.asha import Judgement, judge, reached, values_at_rungs
from millpond.decide.searches.outcomes import Seen, outcome
from millpond.errors import NotFound
from millpond.model.job import Job, JobState
from millpond.model.people import SYSTEM
from millpond.model.search import Search, Trial, TrialState
from millpond.model.series import Points, Summary
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.jobs import jobs as job_service
from millpond.services.jobs.jobs import JobChange
from millpond.services.runs.stored_series import parts_of


def observe(deps: Deps, search: Search, known: Sequence[Trial], now: datetime) -> list[Trial]:
    """The trials as they are now, in the same order."""
    watched = [trial for trial in known if trial.job_id is not None and not trial.is_settled]
    after: dict[int, Trial] = {trial.number: trial for trial in known}
    with deps.db.read() as tx:
        found = jobs.by_ids(tx, {trial.job_id for trial in watched if trial.job_id})
        keys = [objective.metric for objective in search.spec.objectives]
        summaries = metrics.summaries(tx, [trial.run_id for trial in watched if trial.run_id], keys)
        for trial in watched:
            seen = _seen(tx, search, trial, found.get(trial.job_id or ""), summaries, list(after.values()))
            after[trial.number] = outcome(search.spec, trial, seen, now)
    return list(after.values())


def stop_jobs(deps: Deps, search: Search, known: Sequence[Trial]) -> None:
    """Stop the jobs of trials that have ended before their jobs. Called again until they have."""
    ended = [trial for trial in known if trial.state.is_finished and not trial.is_settled and trial.job_id]
    with deps.db.read() as tx:
        project = projects.get(tx, search.project_id)
    stopped: list[Job] = []
    for trial in ended if project is not None else ():
        assert project is not None
        try:
            job, changed = job_service.change(deps, SYSTEM, project, trial.job_id or "", _stopping(deps, search, trial))
        except NotFound:
            continue
        stopped += [job] if changed else []
    job_changes.announce(deps, stopped)


def _stopping(deps: Deps, search: Search, trial: Trial) -> JobChange:
    now = deps.clock.now()
    why = f"Stopped by search {search.name}: {trial.problem or 'it has ended.'}"

    def stopped(job: Job) -> Job:
        if job.status.state.is_finished or job.status.stop_requested_at is not None:
            return job
        job = job.changed(suspended_at=None)
        if job.status.state in (JobState.QUEUED, JobState.SUSPENDED):
            return job_life.cancel(job, why, now)
        return job_life.request_stop(job, why, now)

    return JobChange("job.stop", stopped)


def _seen(
    tx: Connection, search: Search, trial: Trial, job: Job | None,
    summaries: Mapping[str, Mapping[str, Summary]], trials: Sequence[Trial],
) -> Seen:  # fmt: skip
    if job is None or job.id != trial.job_id:
        return Seen(None)
    own = summaries.get(trial.run_id or "", {})
    missing = job.status.state is JobState.SUCCEEDED and any(one.metric not in own for one in search.spec.objectives)
    return Seen(
        state=job.status.state,
        ended_at=job.status.ended_at,
        problem=job.status.reasons[-1] if job.status.reasons else job.status.problem,
        summaries=own,
        logged=[one.key for one in metrics.of_runs(tx, [trial.run_id or ""])] if missing else (),
        judgement=_judgement(tx, search, trial, own, trials, is_over=job.status.state.is_finished),
    )


def _judgement(
    tx: Connection, search: Search, trial: Trial, own: Mapping[str, Summary], trials: Sequence[Trial], *, is_over: bool
) -> Judgement | None:
    """None if there is nothing new to judge. The points are read only when a further rung is reached."""
    pruning = search.spec.pruning
    if pruning is None or trial.state is not TrialState.RUNNING:
        return None
    objective = search.spec.objectives[0]
    summary = own.get(objective.metric)
    if summary is None or not reached(pruning, summary.last_step, len(trial.rungs)):
        return None
    rungs = values_at_rungs(pruning, _points(tx, trial.run_id or "", objective.metric))
    if is_over:
        return Judgement(rungs)
    others = [other.rungs for other in trials if other.number != trial.number]
    return judge(pruning, objective.direction, rungs, len(trial.rungs), others)


def _points(tx: Connection, run_id: str, key: str) -> Points:
    one = next(iter(metrics.of_runs(tx, [run_id], [key])), None)
    run = runs.get(tx, run_id)
    if one is None or run is None:
        return Points()
    loose = metrics.unfolded(tx, [run_id] if run.unfolded else [], {one.id})
    chunks = dict(metrics.chunks(tx, [one.id], start=None, end=None))
    return Points.joined(part.read() for part in parts_of(chunks.get(one.id, ()), loose.get(one.id, ()), None, None))
