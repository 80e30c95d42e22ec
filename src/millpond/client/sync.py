"""From a folder to a commit: look, push what the project lacks, commit on top of what the folder last agreed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.blobs.store import Buffer
from millpond.client.datasets import branch_head, create_commit
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.client.working_copy import WorkingCopy
from millpond.errors import RefMoved
from millpond.lake.diff import diff_trees
from millpond.lake.pages import unpack_page
from millpond.lake.push import Pushed, PushOptions, push_directory
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.scan import Warn
from millpond.lake.transfer import Progress, Slot
from millpond.lake.tree import Tree
from millpond.model.tree import TreeChange
from millpond.wire.data import Commit, CommitCreate

STAT_CACHE = "stat-cache"


@dataclass(frozen=True, slots=True)
class Synced:
    """`commit` is what the folder and the branch agree on now; `changed` is False when they did already."""

    commit: Commit | None
    tree: Tree
    changed: bool
    pushed: Pushed | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """How a folder differs from the newest commit of its branch."""

    head: Commit | None
    tree: Tree
    changes: list[TreeChange]


def sync(
    api: Api,
    copy: WorkingCopy,
    *,
    message: str = "",
    rehash: bool = False,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> Synced:
    """Make the branch hold what the folder holds. Running it again after any interruption simply goes on.

    RefMoved when somebody else committed since this folder last agreed with the branch.
    """
    head = branch_head(api, copy.project, copy.dataset, copy.branch)
    options = _options(copy, rehash)
    if (head.id if head else None) != copy.head:
        # Either somebody else committed, or we did and were killed before we could note it.
        tree = look(copy.root, options, progress, warn).tree
        if head is None or head.tree != tree.root:
            raise _moved(copy, head)
        copy.at(head.id).save()
        return Synced(head, tree, changed=False)
    with ApiUploader(api, copy.project, known_tree=head.tree if head else None) as uploader:
        pushed = push_directory(copy.root, uploader, options=options, progress=progress, warn=warn)
        if head is not None and head.tree == pushed.tree.root:
            return Synced(head, pushed.tree, changed=False, pushed=pushed)
        request = CommitCreate(
            upload=uploader.id, tree=pushed.tree.root, branch=copy.branch, expected=copy.head, message=message
        )
        commit = create_commit(api, copy.project, copy.dataset, request)
    copy.at(commit.id).save()
    return Synced(commit, pushed.tree, changed=True, pushed=pushed)


def compare(
    api: Api,
    copy: WorkingCopy,
    *,
    rehash: bool = False,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> Status:
    """How the folder differs from the newest commit of its branch; nothing is sent."""
    head = branch_head(api, copy.project, copy.dataset, copy.branch)
    seen = look(copy.root, _options(copy, rehash), progress, warn)
    if head is None:
        entries = TreeReader(seen, seen.tree.root).entries()
        return Status(None, seen.tree, [TreeChange(entry.path, None, entry) for entry in entries])
    with ApiDownloader(api, copy.project, copy.dataset, head.id) as downloader:
        pages = _EitherSource(seen, downloader)
        return Status(head, seen.tree, list(diff_trees(pages, head.tree, seen.tree.root)))


@dataclass(frozen=True, slots=True)
class Seen:
    """A folder's tree with its pages, none of which was sent anywhere."""

    tree: Tree
    pages: dict[str, bytes]

    def page(self, page_id: str) -> bytes:
        return unpack_page(page_id, self.pages[page_id])


def look(root: Path, options: PushOptions, progress: Progress | None, warn: Warn) -> Seen:
    """The tree a push of `root` would make."""
    pages = _PageCollector()
    pushed = push_directory(root, pages, options=options, progress=progress, warn=warn)
    return Seen(pushed.tree, pages.pages)


class _PageCollector:
    """An uploader for looking only: every blob is there already, and pages are kept here."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        return [False] * len(digests)

    def pack_slots(self, count: int) -> list[Slot]:
        raise AssertionError("nothing is missing, so no pack is filled")

    def put(self, slot: Slot, data: Buffer) -> None:
        self.pages[slot.id] = bytes(data)

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        raise AssertionError("no pack was filled")

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        return [Slot(id=page, url="") for page in pages]


class _EitherSource:
    """Pages of the folder's own tree from memory, all others from the lake."""

    def __init__(self, seen: Seen, lake: PageSource) -> None:
        self._seen = seen
        self._lake = lake

    def page(self, page_id: str) -> bytes:
        return self._seen.page(page_id) if page_id in self._seen.pages else self._lake.page(page_id)


def _options(copy: WorkingCopy, rehash: bool) -> PushOptions:
    return PushOptions(stat_cache=copy.folder / STAT_CACHE, rehash=rehash)


def _moved(copy: WorkingCopy, head: Commit | None) -> RefMoved:
    if head is None:
        return RefMoved(
            f"The branch {copy.branch} of {copy.written}, which this folder was synced to, is gone.",
            hint="Sync to another branch: mill data sync --branch NAME",
        )
    return RefMoved(
        f"{head.author} committed to {copy.written}@{copy.branch} since this folder was last synced.",
        hint=(
            f"See what changed: mill data diff {copy.dataset}@{(copy.head or head.id)[:12]} {copy.branch}. "
            f"Keep both: mill data sync --branch NAME. Start from theirs: mill data clone {copy.dataset} OTHER-FOLDER"
        ),
        head=head.id,
    )
