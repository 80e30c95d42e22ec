"""What moving data asks for and is told: refs, commits, and the bodies of uploading and reading."""

from __future__ import annotations

from datetime import datetime

from millpond.model.dataset import RefType
from millpond.wire.quick.shape import QuickShape

_OF = "millpond.wire.data"


class Dataset(QuickShape, of=_OF):
    id: str
    name: str


class Ref(QuickShape, of=_OF):
    name: str
    type: RefType
    commit_id: str


class RefCreate(QuickShape, of=_OF):
    name: str
    type: RefType = RefType.BRANCH
    at: str = "main"


class Commit(QuickShape, of=_OF):
    id: str
    dataset: str
    dataset_id: str
    tree: str
    parents: list[str]
    author: str
    time: datetime
    message: str
    files: int
    bytes: int
    lineage: dict[str, object] = {}


class CommitCreate(QuickShape, of=_OF):
    upload: str
    tree: str
    branch: str = "main"
    expected: str | None = None
    parent: str | None = None
    message: str = ""
    origin: str | None = None


class UploadCreate(QuickShape, of=_OF):
    pass


class Upload(QuickShape, of=_OF):
    id: str
    begins_empty: bool = False
    takes_sizes: bool = False


class Slot(QuickShape, of=_OF):
    id: str
    url: str
    headers: dict[str, str] = {}


class Slots(QuickShape, of=_OF):
    slots: list[Slot]


class PackSlotsRequest(QuickShape, of=_OF):
    count: int
    crc32: list[str] = []


class SizedPackSlotsRequest(QuickShape, of=_OF):
    """For servers that know sizes; those before them refuse a field that they do not know."""

    count: int
    crc32: list[str] = []
    sizes: list[int] = []


class PackWritten(QuickShape, of=_OF):
    id: str
    size: int


class PacksWritten(QuickShape, of=_OF):
    packs: list[PackWritten]


class PageSlotsRequest(QuickShape, of=_OF):
    pages: list[str]


class UrlsRequest(QuickShape, of=_OF):
    pages: list[str] = []
    locators: list[str] = []
    packs: list[str] = []
    external: list[str] = []
    commit: bool = False


class ExternalUrl(QuickShape, of=_OF):
    url: str
    descriptor: str


class StoreUrls(QuickShape, of=_OF):
    store: str
    pages: dict[str, str]
    locators: dict[str, str]
    packs: dict[str, str]


class Urls(QuickShape, of=_OF):
    store: str = "lake"
    pages: dict[str, str]
    locators: dict[str, str]
    packs: dict[str, str]
    pack_sizes: dict[str, int] = {}
    external: dict[str, ExternalUrl] = {}
    others: list[StoreUrls] = []
    commit: str | None = None
    lake: str | None = None
