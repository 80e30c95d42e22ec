"""Runs, their metrics and artifacts."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, WithJsonSchema

from millpond.model.job import JobState
from millpond.model.run import RunState
from millpond.wire.base import Request, Response, Time

_NOT_FINITE = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"], "type": "string"}]}


def written_number(value: float) -> float | str:
    """A number as JSON can say it: NaN and the infinities as words, as protobuf writes them."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# A number, or "NaN", "Infinity", "-Infinity".
Number = Annotated[
    float,
    PlainSerializer(written_number, return_type=float | str, when_used="json"),
    WithJsonSchema(_NOT_FINITE, mode="serialization"),
]


class MetricSummary(Response):
    """What is known of a metric without its points. `min` and `max` are None while every value was NaN."""

    points: int
    last: Number
    last_step: int
    min: Number | None
    min_step: int | None
    max: Number | None
    max_step: int | None


class Run(Response):
    id: str
    project: str
    experiment: str
    name: str
    job: str | None  # id
    # The run that this one is a part of, by id; it may be gone.
    parent: str | None = None
    state: RunState
    # Of its job, which may still wait or be prepared; None for scripts.
    job_state: JobState | None = None
    params: dict[str, object]
    tags: dict[str, str]
    # The last value of every metric; keys whose last value is NaN or infinite are only in `summaries`.
    metrics: dict[str, float]
    # Last, least and greatest value of every metric.
    summaries: dict[str, MetricSummary] = {}
    created_by: str
    started_at: Time
    ended_at: Time | None
    deleted_at: Time | None = None


class RunKey(Response):
    """How many runs have it, and whether their values differ; `values` only of tags, the most frequent ones."""

    key: str
    runs: int
    differs: bool = False
    values: list[str] = []


class RunKeys(Response):
    """What the newest `runs` runs of a list have, by name."""

    runs: int
    params: list[RunKey]
    metrics: list[RunKey]
    tags: list[RunKey]
    experiments: list[str]
    users: list[str]


class RunAggregate(Response):
    """One value of a metric over the runs of a group that have it."""

    runs: int
    mean: Number
    min: Number
    max: Number


class RunGroup(Response):
    """`value` is null for runs without it. `filter` is the condition for its runs, null if none can be written."""

    value: str | None
    runs: int
    filter: str | None
    # By column, like `min(metrics.loss)`.
    metrics: dict[str, RunAggregate] = {}


class ParamChange(Response):
    """A value that a parameter had before."""

    value: object
    until: str


class RunDetails(Run):
    notes: str = ""
    # What the script recorded of itself: command, Git, host, Python, packages.
    origin: dict[str, object] = {}
    inputs: list[dict[str, object]] = []
    # Earlier values of parameters that were changed, oldest first.
    param_changes: dict[str, list[ParamChange]] = {}
    # How many runs have this one as their parent.
    children: int = 0


class RunCreate(Request):
    """`id` may be made by the client, so that a run recorded offline keeps its id; creating it twice is one run."""

    id: str | None = Field(default=None, pattern=r"^[0-9a-z]{8,32}$")
    name: str | None = None
    # Without one: that of the parent, else the default one.
    experiment: str | None = None
    parent: str | None = Field(default=None, pattern=r"^[0-9a-z]{8,32}$")
    params: dict[str, object] = {}
    tags: dict[str, str] = {}
    started_at: Time | None = None
    # Let a run of this id that has ended run again.
    resume: bool = False


class RunEdit(Request):
    """What is left out stays as it is. A tag of null is removed."""

    name: str | None = None
    experiment: str | None = None
    notes: str | None = None
    tags: dict[str, str | None] = {}


class MetricPoint(Request):
    key: str = Field(min_length=1, max_length=250)
    # "NaN", "Infinity" and "-Infinity" stand for what JSON cannot say; null is NaN.
    value: float | None
    step: int = 0
    at: Time


class SeriesPart(Request):
    """Points of one metric as columns of equal length."""

    key: str = Field(min_length=1, max_length=250)
    steps: list[int] = Field(max_length=10_000)
    values: list[float | None] = Field(max_length=10_000)
    # Milliseconds since 1970.
    times: list[int] = Field(max_length=10_000)


class RunBatch(Request):
    """What a client reports at once. `sequence` grows by one per batch of a run: a batch sent twice counts once."""

    sequence: int = Field(ge=0, lt=1 << 63)
    # Made by the client at start: batches of two clients reporting to one run do not shadow each other.
    writer: str = Field(min_length=1, max_length=64)
    # Another name or experiment for the run.
    name: str | None = Field(default=None, min_length=1, max_length=200)
    experiment: str | None = Field(default=None, min_length=1, max_length=200)
    params: dict[str, object] = {}
    tags: dict[str, str] = {}
    metrics: list[MetricPoint] = Field(default=[], max_length=10_000)
    series: list[SeriesPart] = Field(default=[], max_length=10_000)
    origin: dict[str, object] = {}
    # Datasets that were read: `name` and `digest` (a commit of the lake), and what else is known of each.
    inputs: list[dict[str, object]] = Field(default=[], max_length=1000)
    # How far a job is, from 0 to 1.
    progress: float | None = Field(default=None, ge=0, le=1)
    ended: RunState | None = None
    ended_at: Time | None = None


class Series(Response):
    """One metric of one run by step; thinned to at most `limit` points when longer (least and greatest are kept)."""

    run: str
    key: str
    steps: list[int]
    values: list[Number]
    # Milliseconds since 1970; empty if they were not asked for.
    times: list[int]
    # How many points there are between the steps that were asked for.
    total: int


class SeriesList(Response):
    items: list[Series]


class SeriesPage(SeriesList):
    """One page of a series. `next` goes into `?cursor=` of the following request; None on the last page."""

    next: str | None = None


class SeriesAsked(Request):
    """Series of several runs at once."""

    runs: list[str] = Field(min_length=1, max_length=1000)
    # All keys without it.
    keys: list[str] | None = Field(default=None, max_length=100)
    limit: int = Field(default=1000, ge=4, le=100_000)
    start: int | None = None
    end: int | None = None
    # False leaves out the times of points: charts by step do not need them.
    times: bool = True


class RunsAsked(Request):
    runs: list[str] = Field(min_length=1, max_length=1000)


class ComparedRow(Response):
    """One parameter, tag or metric of all runs compared, in their order; null where a run does not have it."""

    key: str
    values: list[object]
    differs: bool


class Comparison(Response):
    runs: list[Run]
    params: list[ComparedRow]
    tags: list[ComparedRow]
    # The last values.
    metrics: list[ComparedRow]


class Artifact(Response):
    path: str
    size: int


class ArtifactPut(Request):
    """One file to add or replace. Its content has been sent in packs, unless the project has it already."""

    path: str = Field(min_length=1, max_length=1000)
    kind: Literal["file", "executable"] = "file"
    size: int = Field(default=0, ge=0, lt=1 << 63)
    content: Literal["nothing", "blob", "chunks"] = "nothing"
    digest: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")


class ArtifactsLogged(Request):
    # The upload whose packs hold new content.
    upload: str
    puts: list[ArtifactPut] = Field(min_length=1, max_length=10_000)
