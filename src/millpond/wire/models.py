"""Models, their versions and aliases, and two versions side by side."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from millpond.model.model import MOST_SOURCE, ModelStage, VersionState
from millpond.model.model_check import CheckState
from millpond.wire.base import Request, Response, Time
from millpond.wire.data import Diff
from millpond.wire.runs import Number


class ModelCheck(Response):
    """A version, loaded and run once in a job. Times in milliseconds of a request with one row, memory in bytes."""

    state: CheckState
    job: str
    by: str
    at: Time
    error: str | None = None
    backend: str | None = None
    load_ms: float | None = None
    first_ms: float | None = None
    median_ms: float | None = None
    p95_ms: float | None = None
    # How often it was run.
    runs: int = 0
    # What it took more than a process without it, and what that took at its most.
    memory: int | None = None
    peak_memory: int | None = None
    # Inputs and outputs as clients of an endpoint see them: name, datatype, shape.
    inputs: list[dict[str, object]] = []
    outputs: list[dict[str, object]] = []
    python: str | None = None
    packages: dict[str, str] = {}


class ModelCheckStart(Request):
    # Template or queue to run on.
    on: Annotated[str, Field(min_length=1, max_length=639)] | None = None
    # Install what the model needs; False: the machine's own Python has it.
    environment: bool = True


class ModelVersion(Response):
    """One version. Its files are those of the tag `version` of the dataset `dataset`."""

    project: str
    model: str
    version: int
    state: VersionState
    description: str
    stage: ModelStage
    aliases: list[str]
    tags: dict[str, str]
    # As they were when it was registered.
    metrics: dict[str, Number]
    params: dict[str, str]
    # As in MLflow's file MLmodel: inputs, outputs, params; null: not known.
    signature: dict[str, object] | None = None
    # The same in words: `inputs.age` is `double`.
    signature_columns: dict[str, str] = {}
    flavors: list[str] = []
    # The newest check; null: never checked.
    check: ModelCheck | None = None
    source: str
    run: str | None = None
    job: str | None = None
    step: str | None = None
    code: str | None = None
    # Commits that it was made from: `project/dataset@commit`.
    inputs: list[str] = []
    dataset: str
    commit: str
    files: int
    bytes: int
    created_at: Time
    created_by: str
    changed_at: Time
    deleted_at: Time | None = None


class Model(Response):
    id: str
    project: str
    name: str
    # The dataset that holds its versions.
    dataset: str
    description: str
    tags: dict[str, str]
    # The version that each alias points to.
    aliases: dict[str, int]
    versions: int
    newest: ModelVersion | None
    created_at: Time
    created_by: str
    changed_at: Time
    deleted_at: Time | None = None


class ModelCreate(Request):
    name: str
    description: str = ""
    tags: dict[str, str] = {}


class ModelChange(Request):
    """What is null stays as it is. A tag of null is removed."""

    name: str | None = None
    description: str | None = None
    tags: dict[str, str | None] = {}


class ModelSource(Request):
    """Where the files of a version are: exactly one of run, logged_model, commit, version, upload, uri."""

    # Artifacts of a run, by its id; `path` is a folder or file among them.
    run: str | None = None
    path: str = Field(default="", max_length=4095)
    # A model that a run has logged through MLflow's API, by id.
    logged_model: str | None = None
    # `dataset@ref:path` of the same project; `.outputs@JOB:path` for outputs of a job.
    commit: str | None = Field(default=None, max_length=5000)
    # `MODEL@3` or `MODEL@champion`.
    version: str | None = None
    # An upload, with the tree that was sent.
    upload: str | None = None
    tree: str | None = None
    # Files outside the lake, which are not read.
    uri: str | None = Field(default=None, max_length=MOST_SOURCE)

    @model_validator(mode="after")
    def _says_one(self) -> ModelSource:
        given = [name for name in _SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(_SOURCES)}")
        if (self.upload is None) != (self.tree is None):
            raise ValueError("an upload needs the tree that was sent")
        if self.path and self.run is None:
            raise ValueError("path belongs to run")
        return self


_SOURCES = ("run", "logged_model", "commit", "version", "upload", "uri")


class ModelVersionCreate(Request):
    """The next version of a model, which is created if there is none of that name."""

    source: ModelSource
    description: str = ""
    tags: dict[str, str] = {}
    # Names that point to the new version afterwards.
    aliases: list[str] = Field(default=[], max_length=20)
    # Instead of those of the run.
    metrics: dict[str, float] | None = None
    params: dict[str, str] | None = None
    signature: dict[str, object] | None = None
    # The run that it belongs to, where the source does not say so.
    run: str | None = None


class ModelVersionChange(Request):
    """What is null stays as it is. A tag of null is removed."""

    description: str | None = None
    stage: ModelStage | None = None
    # Move all other versions in that stage to Archived.
    archive_others: bool = False
    tags: dict[str, str | None] = {}


class AliasPoint(Request):
    """Where an alias is to point: a number, another alias, or `latest`."""

    version: Annotated[str, Field(min_length=1, max_length=100)]


class BatchPrediction(Request):
    """Predictions of a version for a dataset. `input` and `output` are written `dataset[@ref]`."""

    input: Annotated[str, Field(min_length=1, max_length=600)]
    output: Annotated[str, Field(min_length=1, max_length=600)]
    # Parts that are predicted at the same time, where there is room.
    shards: Annotated[int, Field(ge=1, le=1000)] = 1
    # Columns of a table that make up the model's input, in this order; none: all columns of numbers.
    columns: Annotated[list[str], Field(max_length=10_000)] = []
    # Files that may be unreadable before it fails.
    max_errors: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    # Template or queue to run on.
    on: Annotated[str, Field(min_length=1, max_length=639)] | None = None
    # Install what the model needs; False: the machine's own Python has it.
    environment: bool = True


class ValueDifference(Response):
    """A key of one or both versions; null: that version does not have it."""

    key: str
    before: Number | str | None
    after: Number | str | None
    differs: bool


class ModelComparison(Response):
    before: ModelVersion
    after: ModelVersion
    metrics: list[ValueDifference]
    params: list[ValueDifference]
    tags: list[ValueDifference]
    signature: list[ValueDifference]
    files: Diff
