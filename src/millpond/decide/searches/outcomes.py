"""What a trial has come to, from the state of its job and the metrics of its run."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from millpond.decide.searches.asha import Judgement
from millpond.model.job import JobState
from millpond.model.search import Direction, Objective, Reading, SearchSpec, Trial, TrialState
from millpond.model.series import Summary

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """A trial's job and run as they are now. `state` is None for a job that was deleted for good."""

    state: JobState | None
    ended_at: datetime | None = None
    problem: str | None = None
    # Of the objectives' metrics.
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    # All metrics that the run has logged; only read when one is missing.
    logged: Collection[str] = ()
    judgement: Judgement | None = None


def outcome(spec: SearchSpec, trial: Trial, seen: Seen, now: datetime) -> Trial:
    """The trial as it is now; the same value if nothing changed."""
    is_over = seen.state is None or seen.state.is_finished
    if trial.state is not TrialState.RUNNING:
        return replace(trial, is_settled=trial.is_settled or (trial.state.is_finished and is_over))
    if seen.judgement is not None:
        trial = replace(trial, rungs=seen.judgement.rungs)
    if is_over:
        return replace(_ended(spec, trial, seen), ended_at=seen.ended_at or now, is_settled=True)
    if seen.judgement is not None and seen.judgement.ends_at is not None:
        return _pruned(spec, trial, seen.judgement.ends_at, now)
    return trial


def cancelled(trial: Trial, why: str, now: datetime) -> Trial:
    """A trial that has not finished, ended by its search. One without a job is settled at once."""
    return replace(trial, state=TrialState.CANCELLED, problem=why, ended_at=now, is_settled=trial.job_id is None)


def value_of(objective: Objective, summary: Summary) -> float:
    if objective.reading is Reading.LAST:
        return summary.last
    least, greatest = summary.least, summary.greatest
    found = least if objective.direction is Direction.MINIMIZE else greatest
    return math.nan if found is None else found


def _ended(spec: SearchSpec, trial: Trial, seen: Seen) -> Trial:
    if seen.state is None:
        return replace(trial, state=TrialState.FAILED, problem="Its job was deleted.")
    if seen.state is JobState.CANCELLED:
        return replace(trial, state=TrialState.CANCELLED, problem=seen.problem or "Its job was stopped.")
    if seen.state is JobState.FAILED:
        return replace(trial, state=TrialState.FAILED, problem=seen.problem or "Its job failed.")
    values = []
    for objective in spec.objectives:
        summary = seen.summaries.get(objective.metric)
        if summary is None:
            return replace(trial, state=TrialState.FAILED, problem=never_logged(objective.metric, seen.logged))
        value = value_of(objective, summary)
        if not math.isfinite(value):
            return replace(trial, state=TrialState.FAILED, problem=f"Its {objective.metric} is {value}.")
        values.append(value)
    return replace(trial, state=TrialState.SUCCEEDED, values=tuple(values))


def never_logged(metric: str, logged: Collection[str]) -> str:
    """Says which metric is missing, and which one may have been meant."""
    if not logged:
        return f"Its job never logged the metric {metric!r}, nor any other."
    near = difflib.get_close_matches(metric, logged, n=1, cutoff=0.5)
    named = near or sorted(logged)[:_NAMED]
    more = " …" if len(logged) > len(named) else ""
    return f"Its job never logged the metric {metric!r}. It logged: {', '.join(named)}{more}."


def _pruned(spec: SearchSpec, trial: Trial, rung: int, now: datetime) -> Trial:
    value = trial.rungs[rung]
    metric = spec.objectives[0].metric
    step = spec.pruning.step_of(rung) if spec.pruning else 0
    why = f"{metric} was no number" if value is None else f"{metric} {value:.6g} was not among the best"
    return replace(
        trial, state=TrialState.PRUNED, problem=f"Pruned: {why} at step {step:,}.", ended_at=now,
        values=() if value is None else (value,),
    )  # fmt: skip
