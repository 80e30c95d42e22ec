"""Looking at a working copy: the tree it stands for and the one it came from, with nothing sent anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.client.commits import find_commit
from millpond.client.http import Api
from millpond.client.working_copy import WorkingCopy
from millpond.errors import Conflict, NotFound
from millpond.lake.choice import chooser
from millpond.lake.diff import compare
from millpond.lake.edit import edit_tree
from millpond.lake.page_collector import PageCollector
from millpond.lake.pages import pack_page, unpack_page
from millpond.lake.push import PushOptions, push_directory
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.scan import Warn
from millpond.lake.transfer import Progress
from millpond.model.tree import Entry, Kind

STAT_CACHE = "stat-cache"


@dataclass(frozen=True, slots=True)
class Seen:
    """A tree with those of its pages that the lake may lack."""

    root: str
    pages: dict[str, bytes]

    def page(self, page_id: str) -> bytes:
        return unpack_page(page_id, self.pages[page_id])


@dataclass(frozen=True, slots=True)
class SeenAndLake:
    """Pages of what was seen from memory, all others from the lake."""

    seen: Seen
    lake: PageSource

    def page(self, page_id: str) -> bytes:
        return self.seen.page(page_id) if page_id in self.seen.pages else self.lake.page(page_id)


def look(
    copy: WorkingCopy,
    *,
    rehash: bool = False,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> Seen:
    """The tree a push of the folder would make."""
    collector = PageCollector()
    pushed = push_directory(copy.root, collector, options=options_of(copy, rehash=rehash), progress=progress, warn=warn)
    return Seen(pushed.tree.root, collector.pages)


def completed(seen: Seen, copy: WorkingCopy, base: str, lake: PageSource) -> Seen:
    """The whole tree that a folder with only part of `base` stands for: the rest is as it is in `base`."""
    if not copy.only:
        return seen
    chosen = chooser(copy.only)
    reader = TreeReader(lake, base)
    before = (entry for entry in reader.entries() if chosen(entry.path))
    changes = list(compare(before, TreeReader(seen, seen.root).entries()))
    removals = {change.path for change in changes if change.after is None}
    puts = [change.after for change in changes if change.after and not _is_held(reader, change.after, removals)]
    pages = dict(seen.pages)
    tree = edit_tree(lake, base, puts, removals, lambda page_id, data: pages.update({page_id: pack_page(data)}))
    return Seen(tree.root, pages)


def options_of(copy: WorkingCopy, *, rehash: bool) -> PushOptions:
    return PushOptions(stat_cache=copy.folder / STAT_CACHE, rehash=rehash, stand_ins=copy.stand_ins)


def _is_held(reader: TreeReader, entry: Entry, removals: set[bytes]) -> bool:
    """Whether a directory that is empty here holds something that was not fetched."""
    return entry.kind == Kind.DIRECTORY and any(below.path not in removals for below in reader.entries(entry.path))


def base_of(api: Api, copy: WorkingCopy) -> str | None:
    """The tree that this folder last agreed with; None for one that has never been synced. Conflict if it is gone."""
    if copy.head is None:
        return None
    try:
        return find_commit(api, copy.project, copy.dataset, copy.head).tree
    except NotFound as error:
        raise base_gone(copy) from error


def base_gone(copy: WorkingCopy) -> Conflict:
    """Without the commit a folder came from nobody can tell what was changed in it."""
    keeping = "" if copy.only else "Keep your files: mill data sync --branch NAME. "
    return Conflict(
        f"The commit {str(copy.head)[:12]} that this folder is based on no longer exists in "
        f"{copy.written}: it was removed by the retention rule, or nothing referred to it.",
        hint=f"{keeping}Or reset the folder to the branch, without your changes: mill data checkout "
        f"{copy.branch} --force",
    )
