"""Runs, their metrics and artifacts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.model.job import JobState
from millpond.model.run import RunState
from millpond.wire.base import Request, Response, Time


class Run(Response):
    id: str
    project: str
    experiment: str
    name: str
    job: str | None  # id
    state: RunState
    # Of its job, which may still wait or be prepared; None for scripts.
    job_state: JobState | None = None
    params: dict[str, object]
    tags: dict[str, str]
    # The newest value of every metric.
    metrics: dict[str, float]
    created_by: str
    started_at: Time
    ended_at: Time | None
    deleted_at: Time | None = None


class RunCreate(Request):
    """`id` may be made by the client, so that a run recorded offline keeps its id; creating it twice is one run."""

    id: str | None = Field(default=None, pattern=r"^[0-9a-z]{8,32}$")
    name: str | None = None
    experiment: str = "default"
    params: dict[str, object] = {}
    tags: dict[str, str] = {}
    started_at: Time | None = None


class MetricPoint(Request):
    key: str = Field(min_length=1, max_length=250)
    # None stands for NaN and infinities, which JSON cannot say; they are kept and shown as gaps.
    value: float | None
    step: int = 0
    at: Time


class RunBatch(Request):
    """What a client reports at once. `sequence` grows by one per batch of a run: a batch sent twice counts once."""

    sequence: int = Field(ge=0)
    # Made by the client at start: batches of two clients reporting to one run do not shadow each other.
    writer: str = Field(min_length=1, max_length=64)
    # Another name or experiment for the run.
    name: str | None = Field(default=None, min_length=1, max_length=200)
    experiment: str | None = Field(default=None, min_length=1, max_length=200)
    params: dict[str, object] = {}
    tags: dict[str, str] = {}
    metrics: list[MetricPoint] = Field(default=[], max_length=10_000)
    # How far a job is, from 0 to 1.
    progress: float | None = Field(default=None, ge=0, le=1)
    ended: RunState | None = None
    ended_at: Time | None = None


class Series(Response):
    """One metric of one run; thinned to at most `limit` points when longer (least and greatest are kept)."""

    key: str
    steps: list[int]
    values: list[float | None]  # None stands for NaN and infinities, which JSON cannot say
    times: list[Time]
    total: int


class SeriesList(Response):
    items: list[Series]


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
