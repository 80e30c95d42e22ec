"""Hyperparameter searches: what is asked, and what became of it (docs/design/018)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le, Len, MaxLen

from millpond.model.job_spec import JobSpec
from millpond.model.quantity import DAY

SCHEMA = "millpond.search/1"
MAX_TRIALS = 10_000
MAX_PARALLEL = 1_000
MAX_PARAMETERS = 100
MAX_VALUES = 1_000
MAX_SEED = 2**32 - 1
# Tags of the run of a trial.
SEARCH_TAG, TRIAL_TAG = "search_id", "trial"

ParamValue: TypeAlias = bool | int | float | str
Params: TypeAlias = Mapping[str, ParamValue]


class Method(Enum):
    GRID = "grid"
    RANDOM = "random"
    TPE = "tpe"


class Direction(Enum):
    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    def better(self, one: float, other: float) -> bool:
        return one < other if self is Direction.MINIMIZE else one > other

    def loss(self, value: float) -> float:
        """Lower is better."""
        return value if self is Direction.MINIMIZE else -value


class Reading(Enum):
    """Which value of a metric counts: the last one that a trial logged, or the best."""

    LAST = "last"
    BEST = "best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Either `values`, or a range from `min` to `max`: of whole numbers if both are, unless `type` is given.

    `when` names a parameter before it and the values of it for which this one is used.
    """

    name: Annotated[str, Len(1, 100)]
    values: Annotated[tuple[ParamValue, ...], MaxLen(MAX_VALUES)] = ()
    min: int | float | None = None
    max: int | float | None = None
    log: bool = False
    step: int | float | None = None
    type: Literal["int", "float"] | None = None
    when: Mapping[str, tuple[ParamValue, ...]] = field(default_factory=dict)

    @property
    def is_range(self) -> bool:
        return not self.values

    @property
    def is_whole(self) -> bool:
        if self.type is not None:
            return self.type == "int"
        return isinstance(self.min, int) and isinstance(self.max, int) and not isinstance(self.step, float)

    def is_used(self, params: Params) -> bool:
        """True unless it depends on a parameter that has another value here, or is not used itself."""
        return all(name in params and params[name] in wanted for name, wanted in self.when.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    metric: Annotated[str, Len(1, 250)]
    direction: Direction = Direction.MINIMIZE
    reading: Reading = Reading.LAST
    # The search ends when a trial reaches it; None: never.
    target: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """ASHA: a trial is compared at the steps min_step, min_step * factor, min_step * factor², …"""

    min_step: Annotated[int, Ge(1), Le(10**12)] = 1
    factor: Annotated[int, Ge(2), Le(100)] = 3

    def step_of(self, rung: int) -> int:
        return int(self.min_step * self.factor**rung)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpec:
    """What was asked for. It never changes."""

    job: JobSpec
    parameters: Annotated[tuple[Parameter, ...], MaxLen(MAX_PARAMETERS)] = ()
    method: Method = Method.TPE
    objectives: Annotated[tuple[Objective, ...], MaxLen(5)] = ()
    pruning: Pruning | None = None
    # None: all of a grid, else 20.
    max_trials: Annotated[int, Ge(1), Le(MAX_TRIALS)] | None = None
    parallel: Annotated[int, Ge(1), Le(MAX_PARALLEL)] = 2
    # The search fails with so many failed trials; None: when the first five fail.
    max_failed: Annotated[int, Ge(1), Le(MAX_TRIALS)] | None = None
    seed: Annotated[int, Ge(0), Le(MAX_SEED)] = 0
    # From its creation; 0 for no limit.
    max_seconds: Annotated[int, Ge(0), Le(366 * DAY)] = 0

    @property
    def is_single(self) -> bool:
        return len(self.objectives) == 1


class SearchState(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        return self not in (SearchState.RUNNING, SearchState.PAUSED)


@dataclass(frozen=True, slots=True)
class Search:
    id: str
    project_id: str
    project: str
    name: str
    created_by: str
    # The user it acts for: who created or last resumed it.
    user_id: str
    created_at: datetime
    spec: SearchSpec
    state: SearchState = SearchState.RUNNING
    # What it does and why, newest knowledge only.
    reasons: tuple[str, ...] = ()
    ended_at: datetime | None = None
    # The numbers of its best trials, best first.
    best: tuple[int, ...] = ()
    # True until it has finished and all its jobs have ended.
    is_open: bool = True
    # Counts changes: whoever decided on an older one starts again.
    revision: int = 0


class TrialState(Enum):
    WAITING = "waiting"  # chosen, its job not submitted yet
    RUNNING = "running"  # its job has not ended
    SUCCEEDED = "succeeded"
    PRUNED = "pruned"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_finished(self) -> bool:
        return self not in (TrialState.WAITING, TrialState.RUNNING)


@dataclass(frozen=True, slots=True)
class Trial:
    search_id: str
    number: int
    params: Params
    created_at: datetime
    state: TrialState = TrialState.WAITING
    job_id: str | None = None
    run_id: str | None = None
    # One per objective, once it has ended; of a pruned trial the last that was seen.
    values: tuple[float, ...] = ()
    # Its value at each rung that it has reached; null for one that was no number.
    rungs: tuple[float | None, ...] = ()
    # Why it failed, was pruned or cancelled.
    problem: str | None = None
    ended_at: datetime | None = None
    # True once its job is known to have ended.
    is_settled: bool = False

    @property
    def is_ranked(self) -> bool:
        """True if its values can be compared."""
        return self.state is TrialState.SUCCEEDED and bool(self.values) and all(map(math.isfinite, self.values))


@dataclass(frozen=True, slots=True)
class Importance:
    """From 0 to 1: how much of the differences in the objective a parameter explains."""

    parameter: str
    value: float


@dataclass(frozen=True, slots=True)
class SearchView:
    """A search with counts of its trials by state, and its best trials: one, or several that none other dominates."""

    search: Search
    counts: Mapping[TrialState, int]
    best: tuple[Trial, ...]
    # How many trials it will run at most.
    most_trials: int


@dataclass(frozen=True, slots=True)
class TrialView:
    """A trial with the state of its job, and the newest value of each objective's metric."""

    trial: Trial
    job_state: str | None = None
    newest: Mapping[str, float] = field(default_factory=dict)
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SearchPreview:
    """What a search would run: how many combinations there are (None: without end), and the first trials."""

    combinations: int | None
    most_trials: int
    first: tuple[tuple[Params, tuple[str, ...]], ...]


def as_text(value: Any) -> str:
    """A value as it stands in a command."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
