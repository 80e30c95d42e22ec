"""What a search does next, and why: how many trials it starts, or how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from millpond.decide.searches.best import best_of, reaches_target
from millpond.decide.searches.space import most_trials
from millpond.model.quantity import format_count, format_seconds
from millpond.model.search import Search, SearchState, Trial, TrialState

# So many failures in a row at the beginning are a mistake in the command, not bad luck.
FIRST_FAILURES = 5


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """How many trials to choose now, or the state the search ends in; `stops`: with the trials that still run."""

    reasons: tuple[str, ...]
    start: int = 0
    ends: SearchState | None = None
    stops: bool = False


def plan_round(search: Search, trials: Sequence[Trial], now: datetime, *, exhausted: bool = False) -> RoundPlan:
    """`exhausted`: nothing is left to try."""
    if search.state.is_finished:
        return RoundPlan(search.reasons)
    if (end := _end(search, trials, now)) is not None:
        return end
    counts = Counter(trial.state for trial in trials)
    living = counts[TrialState.RUNNING] + counts[TrialState.WAITING]
    left = 0 if exhausted else most_trials(search.spec) - len(trials)
    if left <= 0 and not living:
        return _completed(search, trials, exhausted=exhausted)
    if search.state is SearchState.PAUSED:
        return RoundPlan(search.reasons)
    start = max(0, min(left, search.spec.parallel - living))
    return RoundPlan(_doing(search, counts, living + start, left - start), start=start)


def failed_why(trials: Sequence[Trial]) -> str | None:
    """What the newest failed trial says."""
    failed = [trial for trial in trials if trial.state is TrialState.FAILED]
    return f"Trial {failed[-1].number}: {failed[-1].problem}" if failed else None


def _end(search: Search, trials: Sequence[Trial], now: datetime) -> RoundPlan | None:
    spec = search.spec
    for trial in trials:
        if reaches_target(spec.objectives, trial):
            written = ", ".join(f"{value:.6g}" for value in trial.values)
            reason = f"Target reached by trial {trial.number}: {written}."
            return RoundPlan((reason,), ends=SearchState.COMPLETED, stops=True)
    if spec.max_seconds and (now - search.created_at).total_seconds() >= spec.max_seconds:
        ends = (
            SearchState.COMPLETED
            if any(trial.state is TrialState.SUCCEEDED for trial in trials)
            else SearchState.FAILED
        )
        return RoundPlan((f"Time limit of {format_seconds(spec.max_seconds)} reached.",), ends=ends, stops=True)
    failed = sum(trial.state is TrialState.FAILED for trial in trials)
    if failed and _too_many(search, trials, failed):
        reason = f"{format_count(failed, 'trial')} failed."
        return RoundPlan((reason, *_told(failed_why(trials))), ends=SearchState.FAILED, stops=True)
    return None


def _too_many(search: Search, trials: Sequence[Trial], failed: int) -> bool:
    if search.spec.max_failed is not None:
        return failed >= search.spec.max_failed
    ended = [trial.state for trial in trials if trial.state.is_finished]
    return len(ended) >= FIRST_FAILURES and all(state is TrialState.FAILED for state in ended)


def _completed(search: Search, trials: Sequence[Trial], *, exhausted: bool) -> RoundPlan:
    if not any(trial.state is TrialState.SUCCEEDED for trial in trials):
        return RoundPlan(("No trial succeeded.", *_told(failed_why(trials))), ends=SearchState.FAILED)
    tried = format_count(len(trials), "trial")
    reason = f"Nothing is left to try after {tried}." if exhausted else f"All {tried} ended."
    return RoundPlan((reason, *_best(search, trials)), ends=SearchState.COMPLETED)


def _best(search: Search, trials: Sequence[Trial]) -> list[str]:
    found = best_of(search.spec.objectives, trials)
    if not found or not search.spec.is_single:
        return []
    return [f"Best: trial {found[0].number} with {search.spec.objectives[0].metric} {found[0].values[0]:.6g}."]


def _doing(search: Search, counts: Mapping[TrialState, int], living: int, left: int) -> tuple[str, ...]:
    reasons = []
    if left > 0:
        held = f": parallel is {search.spec.parallel}" if living >= search.spec.parallel else ""
        reasons.append(f"{format_count(left, 'trial')} left to start{held}.")
    reasons.append(f"Waiting for {format_count(living, 'trial')} to end.")
    if failed := counts.get(TrialState.FAILED):
        reasons.append(f"{format_count(failed, 'trial')} failed so far.")
    return tuple(reasons)


def _told(text: str | None) -> list[str]:
    return [text] if text else []
