"""Datasets, refs, commits, entries, diffs, and the bodies of uploading and reading."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from millpond.model.dataset import DatasetKind, RefType
from millpond.model.quantity import LONGEST_IDLE
from millpond.wire.base import Request, Response, Time


class CachedOn(Response):
    """A badge: where one commit is (or is about to be) cached."""

    cached_id: str
    volume: str
    state: str
    done_bytes: int
    bytes: int


class Retention(Request):
    """Which commits are kept: the newest of each branch, and the young ones. What a ref or a job names always is."""

    keep_last: int | None = Field(default=None, ge=1, le=1_000_000)
    keep_days: int | None = Field(default=None, ge=1, le=100_000)

    @model_validator(mode="after")
    def _says_something(self) -> Retention:
        if self.keep_last is None and self.keep_days is None:
            raise ValueError("give keep_last, keep_days, or both")
        return self


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
    # Since when it is in the bin.
    deleted_at: Time | None = None
    retention: Retention | None = None
    # After how long unused its cached commits go; null: as each volume says.
    cache_idle_seconds: int | None = None
    # Why nothing can be written to it: it differs from the lake.
    read_only: str | None = None


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
    """What is null stays as it is. `retention` is the administrators' to change; `"off"` takes the rule away."""

    name: str | None = None
    description: str | None = None
    retention: Retention | Literal["off"] | None = None
    # `"default"`: as each volume says.
    cache_idle_seconds: Annotated[int, Field(ge=1, le=LONGEST_IDLE)] | Literal["default"] | None = None


class Ref(Response):
    name: str
    type: RefType
    commit_id: str
    moved_at: Time


class RefCreate(Request):
    """A new branch or tag. `at` is any ref; a tag never moves."""

    name: str
    type: RefType = RefType.BRANCH
    at: str = "main"


class CommitJob(Response):
    """A job that ran a commit as its code, or made it as its outputs."""

    id: str
    name: str
    number: int


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
    # Of code and outputs: the newest few jobs that ran it or made it.
    jobs: list[CommitJob] = []


class Verification(Response):
    """How far the packs that a commit rests on were read back and every digest in them checked."""

    commit: str
    packs: int
    bytes: int
    verified_packs: int
    verified_bytes: int
    # When the last of them was.
    verified_at: Time | None
    # What is wrong with packs that are not what they say.
    problems: list[str]


class TreeEntry(Response):
    """One name in a directory. `path` is the text form (see docs): `\\xNN` for bytes that are not UTF-8."""

    path: str
    name: str
    kind: Literal["directory", "symlink", "file", "executable"]
    size: int
    # For a directory: files and bytes below it.
    files: int = 1
    digest: str | None = None
    # Whether its content lies outside the lake, where it was imported from.
    external: bool = False


class Change(Response):
    """One path that differs. A renamed one stands at its new path."""

    path: str
    change: Literal["added", "removed", "changed", "renamed"]
    size_before: int | None
    size_after: int | None
    path_before: str | None = None


class Preview(Response):
    """Where a document of the second origin is shown: `url` works once, for a minute. `origin` is its beginning."""

    origin: str
    url: str


class Diff(Response):
    """Counts and bytes are of the whole difference, `items` of one part of it.

    What was renamed is neither added nor removed, and its bytes are in neither sum.
    """

    before: str
    after: str
    added: int
    removed: int
    changed: int
    renamed: int = 0
    added_bytes: int
    removed_bytes: int
    renamed_bytes: int = 0
    # False when the difference is so large that only part of it was looked through for renames.
    renames_complete: bool = True
    items: list[Change]
    next: str | None = None


class UploadCreate(Request):
    """Nothing yet; the project stands in the path."""


class Upload(Response):
    """`begins_empty`: the project has no content that this upload may build on, so all of it is missing."""

    id: str
    created_at: Time
    begins_empty: bool = False
    # True for a server that knows `sizes` of packs.
    takes_sizes: bool = False


class Slot(Response):
    """One signed PUT: the object's id and how to write it."""

    id: str
    url: str
    headers: dict[str, str] = {}
    expires_at: Time


class PackSlotsRequest(Request):
    count: int = Field(ge=1, le=64)
    # Of each pack, in base64: where the store checks it, the slot's URL takes these bytes alone.
    crc32: list[str] = Field(default_factory=list, max_length=64)
    # In bytes: a pack that would pass the project's quota is refused before it is sent.
    sizes: list[Annotated[int, Field(ge=0, le=1 << 40)]] = Field(default_factory=list, max_length=64)


class SizedPackSlotsRequest(PackSlotsRequest):
    """As clients send it to servers that said `takes_sizes`."""


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
    # Of a new branch: the commit of this dataset that it grows from (its full id).
    parent: str | None = None
    message: str = ""
    # Of an import: the document of the commit of another server that had this tree.
    origin: str | None = Field(default=None, max_length=1 << 20)


class EditPut(Request):
    """One entry to add or replace. Its content has been sent in packs, unless the project has it already."""

    path: str = Field(max_length=20_000, description="In text form: \\xNN for bytes that are not UTF-8.")
    kind: Literal["directory", "symlink", "file", "executable"] = "file"
    size: int = Field(default=0, ge=0, lt=1 << 63)
    content: Literal["nothing", "blob", "chunks"] = "nothing"
    digest: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")


class Edit(Request):
    """Single paths of a branch, changed in one commit without a working copy."""

    # The upload whose packs hold new content; none is needed when nothing is new to the project.
    upload: str | None = None
    branch: str = "main"
    # The commit the branch must still be at (null: whatever it is at).
    expected: str | None = None
    message: str = ""
    puts: list[EditPut] = Field(default=[], max_length=50_000)
    removes: list[str] = Field(default=[], max_length=50_000)
    # A path to remove may also be a directory, with everything below it.
    recursive: bool = False


class Merge(Request):
    """Bring what `source` (any ref) changed since the two parted to the branch `into`."""

    source: str
    into: str = "main"
    # The commit `into` must still be at (null: whatever it is at).
    expected: str | None = None
    message: str = ""


class Revert(Request):
    """Undo what one commit changed, as a new commit of `branch`."""

    commit: str
    branch: str = "main"
    # The commit the branch must still be at (null: whatever it is at).
    expected: str | None = None
    message: str = ""


class UrlsRequest(Request):
    """Objects of one commit to read; URLs live 15 minutes at most."""

    pages: list[str] = Field(default=[], max_length=1000)
    locators: list[str] = Field(default=[], max_length=1000)
    packs: list[str] = Field(default=[], max_length=1000)
    # Paths (text form) of files of this commit that lie outside the lake.
    external: list[str] = Field(default=[], max_length=1000)
    # The commit's own document, too.
    commit: bool = False


class ExternalUrl(Response):
    """How to GET one external file: send `If-Match` with the ETag that its descriptor names, and compare the answer's.

    `descriptor` is the text that the entry's digest is the digest of.
    """

    url: str
    descriptor: str


class StoreUrls(Response):
    """The same objects in another store, which is read if the better one is away or lacks them."""

    store: str
    pages: dict[str, str]
    locators: dict[str, str]
    packs: dict[str, str]


class Urls(Response):
    # Where these URLs lead: `lake`, `endpoint` (that of the site of who asks), or the id of a replica.
    store: str = "lake"
    pages: dict[str, str]
    locators: dict[str, str]
    packs: dict[str, str]
    # The next best first; none where there is but the lake.
    others: list[StoreUrls] = []
    # How many bytes each of these packs has.
    pack_sizes: dict[str, int] = {}
    external: dict[str, ExternalUrl] = {}
    commit: str | None = None
    # The id of the lake, if the document of the commit was asked for.
    lake: str | None = None
    expires_at: Time
