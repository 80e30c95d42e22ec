"""Compares trees before anybody reserves room: what a commit takes beside one that is cached already.

Outside of transactions, because pages may have to come from the lake. What is found is kept as a row, so that admission
knows it inside one; without a row a commit counts as a whole.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import blobs, caches, differences
from millpond.db.caches import CommitSize
from millpond.db.differences import Difference
from millpond.decide.allocation import BLOCK
from millpond.decide.fill_bases import BaseCandidate, rank_bases
from millpond.errors import MillError, NotReady
from millpond.lake.diff import diff_trees
from millpond.model.tree import Content, Entry, Kind, TreeChange
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps
from millpond.volumes.bases import MOVED_MOST

logger = getLogger(__name__)

# Trees compared at most for one request: one for each volume that has another commit of the dataset.
_COMPARED = 4
KEPT = timedelta(days=30)
# Heads that came earlier are compared when somebody asks for them.
_NEW = timedelta(minutes=2)

_turn = threading.Lock()


def prepare(deps: Deps, commit_ids: Iterable[str]) -> None:
    """Compare these commits with the ones they would be filled beside, where nobody has done so yet.

    It never fails: what cannot be compared counts as a whole.
    """
    for commit_id in commit_ids:
        if _needs_comparing(deps, commit_id):
            # A hundred who ask for the same at once compare once.
            with _turn:
                _prepare(deps, commit_id)


def prepare_new(deps: Deps, now: datetime) -> None:
    """Compare commits that branches have just come to, where an earlier one is cached: they will be asked for next."""
    with deps.db.read() as tx:
        heads = differences.new_heads(tx, since=now - _NEW)
    prepare(deps, heads)


def _needs_comparing(deps: Deps, commit_id: str) -> bool:
    with deps.db.read() as tx:
        size = caches.size_of(tx, commit_id)
        return size is not None and bool(_uncompared(tx, size))


def _prepare(deps: Deps, commit_id: str) -> None:
    with deps.db.read() as tx:
        size = caches.size_of(tx, commit_id)
        new = _uncompared(tx, size) if size else []
    for base in new:
        assert size is not None
        try:
            found = _compare(deps, size, base)
        except MillError as error:
            logger.warning("trees_not_compared commit=%s base=%s: %s", commit_id, base.commit_id, error.message)
            continue
        with deps.db.write() as tx:
            differences.insert(tx, found, deps.clock.now())


def best_base(tx: Connection, volume_id: str, size: CommitSize) -> tuple[BaseCandidate, Difference] | None:
    """The commit on the volume that this one would link from, and what it takes then; None without a comparison."""
    for base in bases_for(tx, volume_id, size)[:1]:
        found = differences.find(tx, size.project_id, base.tree, size.tree)
        if found is not None and base.dataset_id == size.dataset_id:
            return base, found
    return None


def bases_for(tx: Connection, volume_id: str, size: CommitSize) -> list[BaseCandidate]:
    """All whole commits of the project on the volume, in the order in which files are taken from them."""
    found = differences.candidates(tx, project_id=size.project_id, besides=size.commit_id, volume_id=volume_id)
    return _ranked(tx, found, size)


def forget_old(deps: Deps) -> None:
    with deps.db.write() as tx:
        differences.forget(tx, before=deps.clock.now() - KEPT)


def _uncompared(tx: Connection, size: CommitSize) -> Sequence[BaseCandidate]:
    found = differences.candidates(tx, project_id=size.project_id, besides=size.commit_id)
    mine = [one for one in found if one.dataset_id == size.dataset_id]
    there = {view.cached.volume_id for view in caches.of_commits(tx, [size.commit_id])}
    by_tree: dict[str, BaseCandidate] = {}
    for volume_id in sorted({one.volume_id for one in mine} - there):
        best = _ranked(tx, [one for one in mine if one.volume_id == volume_id], size)[0]
        by_tree.setdefault(best.tree, best)
    new = [one for one in by_tree.values() if differences.find(tx, size.project_id, one.tree, size.tree) is None]
    return new[:_COMPARED]


def _ranked(tx: Connection, found: Sequence[BaseCandidate], size: CommitSize) -> list[BaseCandidate]:
    nearest = differences.nearest(tx, size.commit_id, {one.commit_id for one in found}) if found else []
    return rank_bases(found, size.dataset_id, nearest)


def _compare(deps: Deps, size: CommitSize, base: BaseCandidate) -> Difference:
    with deps.db.read() as tx:
        root = blobs.pages(tx, size.project_id, [size.tree]).get(size.tree)
    if root is None or root.inodes is None or root.directory_bytes is None:
        raise NotReady(f"The pages of {size.written} have not been counted.")
    changes = diff_trees(ProjectPages(deps.store, deps.pages, size.project_id), base.tree, size.tree)
    news = _new_files(changes)
    blocks = sum(-(-entry.size // BLOCK) for entry in news)
    return Difference(
        project_id=size.project_id,
        base=base.tree,
        tree=size.tree,
        allocated=min(size.allocated, blocks * BLOCK + root.directory_bytes),
        # Empty directories are entries: those among the differences are counted twice, the others not left out.
        inodes=min(size.inodes, len(news) + root.inodes - root.files),
        bytes=sum(entry.size for entry in news if entry.content is not Content.NOTHING),
        files=sum(entry.content is not Content.NOTHING for entry in news),
    )


def _new_files(changes: Iterable[TreeChange]) -> list[Entry]:
    """What the base does not have under any path: the same content with the same permissions is the same file.

    A file that is gone there becomes one file here, however many there are of its content.
    """
    gone: Counter[tuple[bytes, Kind]] = Counter()
    news: list[Entry] = []
    for number, change in enumerate(changes, start=1):
        before = change.before
        if before is not None and before.kind.is_file and before.size and number <= MOVED_MOST:
            gone[before.digest, before.kind] += 1
        if change.after is not None:
            news.append(change.after)
        if number == MOVED_MOST + 1:
            gone.clear()
    return [entry for entry in news if not _is_moved(entry, gone)]


def _is_moved(entry: Entry, gone: Counter[tuple[bytes, Kind]]) -> bool:
    """Whether one of those that are gone becomes this one, which is taken from them then."""
    key = entry.digest, entry.kind
    if not gone[key]:
        return False
    gone[key] -= 1
    return True
