"""Datasets, commits, refs, and the uploads that become commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Any, NamedTuple


class DatasetKind(Enum):
    DATA = "data"
    CODE = "code"
    OUTPUT = "output"
    ARTIFACT = "artifact"
    CHECKPOINT = "checkpoint"
    MODEL = "model"
    FLOW = "flow"
    STEP = "step"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Dataset:
    id: str
    project_id: str
    project: str
    name: str
    kind: DatasetKind
    description: str
    created_at: datetime
    created_by: str
    active_at: datetime

    @property
    def written(self) -> str:
        return f"{self.project}/{self.name}"


@dataclass(frozen=True, slots=True)
class Commit:
    """An immutable tree with its history. The id is the digest of its canonical document."""

    id: str
    dataset_id: str
    tree: str
    parents: tuple[str, ...]
    author: str
    time: datetime
    message: str
    files: int
    bytes: int
    lineage: Mapping[str, Any] = field(default_factory=dict)


class RefType(Enum):
    BRANCH = "branch"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Ref:
    dataset_id: str
    name: str
    type: RefType
    commit_id: str
    moved_at: datetime


@dataclass(frozen=True, slots=True)
class Upload:
    """A client's permission to write packs and pages of one project until it commits."""

    id: str
    project_id: str
    # Who may continue it and use its unverified packs: a user, or the placement of a job.
    owner: str
    created_at: datetime
    used_at: datetime


class PackState(Enum):
    PROMISED = "promised"  # a URL was given; nothing is known of the object
    LIVE = "live"
    CONDEMNED = "condemned"
    DELETING = "deleting"


class BlobPlace(NamedTuple):
    """Where one blob lies. A tuple: they are made, sorted and taken apart by the hundred thousand."""

    digest: bytes
    pack_id: str
    offset: int
    stored: int
    raw: int
    encoding: int


# A place from such a tuple: what BlobPlace._make does, without a frame of the interpreter for each.
place_of: Callable[[tuple[Any, ...]], BlobPlace] = partial(tuple.__new__, BlobPlace)
