"""Models: named histories of versions. A version is a commit with a number; aliases are names that move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from millpond.errors import BadName
from millpond.model.dataset import Commit, Dataset
from millpond.model.model_check import ModelCheck
from millpond.model.names import MODEL_PREFIX

# The newest version, wherever an alias may stand.
LATEST = "latest"
MOST_ALIAS = 100
MOST_SOURCE = 2000


class ModelStage(StrEnum):
    """MLflow's words."""

    NONE = "None"
    STAGING = "Staging"
    PRODUCTION = "Production"
    ARCHIVED = "Archived"


class VersionState(StrEnum):
    READY = "ready"
    ELSEWHERE = "elsewhere"  # its files are not in the lake: only their place is known
    DELETED = "deleted"  # in the bin


@dataclass(frozen=True, slots=True)
class FromRun:
    """A folder (or file) among the artifacts of a run; all of them without a path."""

    run_id: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class FromLoggedModel:
    """A model that a run has logged through MLflow's API."""

    model_id: str


@dataclass(frozen=True, slots=True)
class FromCommit:
    """`dataset@ref:path` of the model's own project: data, the outputs of a job (`.outputs@JOB:path`), artifacts."""

    written: str


@dataclass(frozen=True, slots=True)
class FromVersion:
    """A version of a model of the same project, by number or alias."""

    model: str
    version: str


@dataclass(frozen=True, slots=True)
class FromUpload:
    """A tree that was uploaded for this."""

    upload: str
    tree: str


@dataclass(frozen=True, slots=True)
class FromElsewhere:
    """Files outside the lake: nothing is read, and the URI is kept."""

    uri: str


ModelSource = FromRun | FromLoggedModel | FromCommit | FromVersion | FromUpload | FromElsewhere


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What was known of a version when it was registered; it never changes."""

    # As people and MLflow's clients write it: `runs:/RUN/model`, `xray@3fa2…:best`, `s3://…`.
    source: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    # JSON text with the keys inputs, outputs and params, as in a file MLmodel; empty: not known.
    signature: str = ""
    flavors: tuple[str, ...] = ()
    run_id: str | None = None
    run_link: str = ""
    logged_model: str | None = None
    is_elsewhere: bool = False
    # Where the files are that are not in the lake.
    files_uri: str = ""


@dataclass(frozen=True, slots=True)
class NewModelVersion:
    """What is asked for when a version is registered. The model is created if there is none of that name."""

    model: str
    source: ModelSource
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    # Names that point to the new version afterwards.
    aliases: Sequence[str] = ()
    # Instead of those of the source's run.
    metrics: Mapping[str, float] | None = None
    params: Mapping[str, str] | None = None
    # Instead of that of the file MLmodel: JSON text.
    signature: str = ""
    # The run it belongs to, where the source does not say so.
    run_id: str | None = None
    run_link: str = ""
    # The source as the caller wrote it, where that is more than how it was found.
    written_source: str = ""
    # Further lines of the commit's lineage, said by the server only: {"step": "FLOW-RUN/STEP", "job": JOB}.
    lineage: Mapping[str, object] = field(default_factory=dict)
    # Asked again with the same text, the version that was made before is the answer.
    once: str = ""
    # False: NotFound unless the model exists.
    create_model: bool = True


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version as it is stored. `number` is its tag in the dataset."""

    dataset_id: str
    number: int
    commit_id: str
    description: str
    stage: ModelStage
    tags: Mapping[str, str]
    run_id: str | None
    changed_at: datetime
    deleted_at: datetime | None = None
    # The newest one; None: it was never checked.
    check: ModelCheck | None = None


@dataclass(frozen=True, slots=True)
class ModelVersionView:
    """A version with its commit, the facts of it, and the aliases that point to it."""

    project: str
    model: str
    version: ModelVersion
    commit: Commit
    facts: ModelFacts
    aliases: tuple[str, ...] = ()

    @property
    def written(self) -> str:
        return f"{self.model}@{self.version.number}"

    @property
    def state(self) -> VersionState:
        if self.version.deleted_at is not None:
            return VersionState.DELETED
        return VersionState.ELSEWHERE if self.facts.is_elsewhere else VersionState.READY


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it is stored: the dataset that holds its versions, and what that does not know."""

    dataset: Dataset
    tags: Mapping[str, str]
    changed_at: datetime
    next_version: int = 1
    deleted_at: datetime | None = None

    @property
    def name(self) -> str:
        return self.dataset.name.removeprefix(MODEL_PREFIX)

    @property
    def written(self) -> str:
        return f"{self.dataset.project}/{self.name}"


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model with its aliases (alias → number), how many versions it has, and the newest of them."""

    model: Model
    aliases: Mapping[str, int]
    versions: int
    newest: ModelVersionView | None


def split_written(text: str) -> tuple[str, str]:
    """Model and version (a number, an alias or `latest`) of `model@3`; the newest version without one."""
    name, at, version = text.rpartition("@")
    if not at:
        return text, LATEST
    if not name or not version:
        raise BadName(f"{text!r} is not a version of a model.", hint="Write it as MODEL@3 or MODEL@champion.")
    return name, version
