"""Datasets, refs, commits, entries, diffs, and the bodies of uploading and reading."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from millpond.model.dataset import DatasetKind, RefType
from millpond.wire.base import Request, Response, Time


class CachedOn(Response):
    """A badge: where one commit is (or is about to be) cached."""

    cached_id: str
    volume: str
    state: str
    done_bytes: int
    bytes: int


class Dataset(Response):
    """A card of the hub."""

    id: str
    project: str
    name: str
    kind: DatasetKind
    description: str
    created_at: Time
    created_by: str
    active_at: Time
    members: list[str]
    commits: int
    cached_commits: int
    # Of the newest commit on the default branch.
    bytes: int
    files: int
    head: str | None
    default_branch: str = "main"


class DatasetTotals(Response):
    """The header of the hub: `6 Datasets · 290.2 MB · 3 NFS Connected · 1.07/360.77 GB used by cached commits`."""

    datasets: int
    bytes: int
    volumes_connected: int
    cached_bytes: int
    volume_bytes: int


class DatasetCreate(Request):
    name: str
    description: str = ""


class DatasetChange(Request):
    name: str | None = None
    description: str | None = None


class Ref(Response):
    name: str
    type: RefType
    commit_id: str
    moved_at: Time


class Commit(Response):
    id: str
    dataset: str  # project/name
    dataset_id: str
    project_id: str
    tree: str
    parents: list[str]
    author: str
    time: Time
    message: str
    files: int
    bytes: int
    lineage: dict[str, object] = {}
    refs: list[str] = []
    cached_on: list[CachedOn] = []


class TreeEntry(Response):
    """One name in a directory. `path` is the text form (see docs): `\\xNN` for bytes that are not UTF-8."""

    path: str
    name: str
    kind: Literal["directory", "symlink", "file", "executable"]
    size: int
    # For a directory: files and bytes below it.
    files: int = 1
    digest: str | None = None


class Change(Response):
    path: str
    change: Literal["added", "removed", "changed"]
    size_before: int | None
    size_after: int | None


class Diff(Response):
    before: str
    after: str
    added: int
    removed: int
    changed: int
    added_bytes: int
    removed_bytes: int
    items: list[Change]
    next: str | None = None


class UploadCreate(Request):
    """Nothing yet; the project stands in the path."""


class Upload(Response):
    id: str
    created_at: Time


class Slot(Response):
    """One signed PUT: the object's id and how to write it."""

    id: str
    url: str
    headers: dict[str, str] = {}
    expires_at: Time


class PackSlotsRequest(Request):
    count: int = Field(ge=1, le=64)


class Slots(Response):
    slots: list[Slot]


class PackWritten(Request):
    id: str
    size: int


class PacksWritten(Request):
    packs: list[PackWritten] = Field(max_length=256)


class PageSlotsRequest(Request):
    """Ids of pages the client has; slots come back for those the project lacks."""

    pages: list[str] = Field(max_length=1000)


class CommitCreate(Request):
    upload: str
    tree: str
    branch: str = "main"
    # The commit the branch must still be at (null: the branch must not exist yet).
    expected: str | None = None
    message: str = ""


class UrlsRequest(Request):
    """Objects of one commit to read; URLs live 15 minutes at most."""

    pages: list[str] = Field(default=[], max_length=1000)
    locators: list[str] = Field(default=[], max_length=1000)
    packs: list[str] = Field(default=[], max_length=1000)


class Urls(Response):
    pages: dict[str, str]
    locators: dict[str, str]
    packs: dict[str, str]
    expires_at: Time
