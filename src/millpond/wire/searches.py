"""Hyperparameter searches and their trials."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from millpond.model.job_spec import JobSpec, checked_document
from millpond.model.quantity import DAY
from millpond.model.search import (
    MAX_PARALLEL,
    MAX_PARAMETERS,
    MAX_SEED,
    MAX_TRIALS,
    MAX_VALUES,
    Direction,
    Method,
    ParamValue,
    Pruning,
    Reading,
    SearchState,
    TrialState,
)
from millpond.wire.base import Request, Response, Time


class SearchParameter(Request):
    """Either `values`, or `min` and `max`. Whole numbers make a range of whole numbers, unless `type` is float."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    values: Annotated[list[ParamValue], Field(max_length=MAX_VALUES)] = []
    min: int | float | None = None
    max: int | float | None = None
    log: bool = False
    step: int | float | None = None
    type: Literal["int", "float"] | None = None
    # Only used in trials where these parameters have one of these values.
    when: dict[str, list[ParamValue]] = {}


class SearchObjective(Request):
    metric: Annotated[str, Field(min_length=1, max_length=250)]
    direction: Direction = Direction.MINIMIZE
    # Which value of the metric counts.
    reading: Reading = Reading.LAST
    # The search ends when a trial reaches it.
    target: float | None = None


class SearchCreate(Request):
    """`job` is what a trial runs; parameters stand in its command as `{name}`, or are appended as `--name VALUE`."""

    name: Annotated[str, Field(max_length=63)] | None = None
    job: JobSpec
    parameters: Annotated[list[SearchParameter], Field(max_length=MAX_PARAMETERS)] = []
    # Take values that the command lists by commas (`--lr 0.1,0.01`) as parameters of a grid.
    command_grid: bool = False
    method: Method = Method.TPE
    objectives: Annotated[list[SearchObjective], Field(max_length=5)] = []
    # ASHA, on the objective's metric as trials log it.
    pruning: Pruning | None = None
    max_trials: Annotated[int, Field(ge=1, le=MAX_TRIALS)] | None = None
    parallel: Annotated[int, Field(ge=1, le=MAX_PARALLEL)] = 2
    max_failed: Annotated[int, Field(ge=1, le=MAX_TRIALS)] | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    # Counted from its creation; 0 for no limit.
    max_seconds: Annotated[int, Field(ge=0, le=366 * DAY)] = 0

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, body: Any) -> Any:
        """Accept the short forms of a job's fields."""
        if isinstance(body, dict) and isinstance(body.get("job"), dict):
            return {**body, "job": checked_document(body["job"])}
        return body


class Trial(Response):
    """One choice of parameters, run as one job. `values` has one number for each objective."""

    number: int
    state: TrialState
    params: dict[str, ParamValue]
    values: list[float] = []
    # The newest value of each objective's metric while it runs.
    newest: dict[str, float] = {}
    job: str | None
    run: str | None
    job_state: str | None = None
    problem: str | None
    created_at: Time
    started_at: Time | None = None
    ended_at: Time | None


class Search(Response):
    """`reasons` say what it is doing and why it waits. `best` is one trial, or several that none other dominates."""

    id: str
    project: str
    name: str
    state: SearchState
    reasons: list[str]
    method: Method
    parameters: list[SearchParameter]
    objectives: list[SearchObjective]
    pruning: Pruning | None
    # How many trials it runs at most.
    max_trials: int
    parallel: int
    max_failed: int | None
    seed: int
    max_seconds: int
    job: JobSpec
    # How many trials there are, by state.
    trials: int
    counts: dict[str, int]
    best: list[Trial]
    created_by: str
    created_at: Time
    ended_at: Time | None


class PreviewTrial(Response):
    params: dict[str, ParamValue]
    command: list[str]


class SearchPreview(Response):
    """What it would run: `combinations` is null where there is no end of them."""

    combinations: int | None
    max_trials: int
    first: list[PreviewTrial]


class ParameterImportance(Response):
    parameter: str
    importance: float


class SearchImportance(Response):
    """How much of the differences in an objective each parameter explains; empty with fewer than four values.

    `method` is `variance`: the share of variance that a parameter explains alone, of what all explain together.
    """

    objective: str | None
    method: str
    trials: int
    items: list[ParameterImportance]
