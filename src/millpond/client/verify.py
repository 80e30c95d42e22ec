"""Verifying a commit: in the lake over signed URLs, or a folder against the commit it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

from millpond.client.datasets import get_commit
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.client.working_copy import WorkingCopy
from millpond.errors import Corrupt, NotFound
from millpond.lake.check import check_directory, check_metadata, check_sample, sample_paths
from millpond.lake.choice import chooser
from millpond.lake.digests import digest_of
from millpond.lake.packs import read_index
from millpond.lake.transfer import Progress
from millpond.lake.verify import DAMAGE, Damage, verify_tree
from millpond.model.path import to_text
from millpond.model.tree import TreeChange
from millpond.wire.data import Commit

# A damaged page takes thousands of files along.
_PATHS_NAMED = 100


class Depth(Enum):
    METADATA = "metadata"
    SAMPLE = "sample"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class FoundDamage:
    """One thing that is wrong. `paths` are files it concerns; none when that cannot be told."""

    what: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    commit: Commit
    depth: Depth
    problems: list[FoundDamage]


def verify_lake(
    api: Api,
    project: str,
    dataset: str,
    ref: str,
    *,
    depth: Depth,
    sample: int = 0,
    progress: Progress | None = None,
) -> Verified:
    """Check what the lake holds of a commit: pages and places of blobs, `sample` whole files too, or every byte."""
    commit = get_commit(api, project, dataset, ref)
    with ApiDownloader(api, project, dataset, commit.id) as lake:
        found: Iterable[Damage]
        if depth is Depth.FULL:
            found = verify_tree(lake, commit.tree, progress=progress)
        else:
            found = check_metadata(lake, commit.tree, progress=progress)
        problems = [_damaged(damage) for damage in (*_check_commit(lake, commit), *found, *_check_packs(lake))]
        if depth is Depth.SAMPLE and not problems:
            problems = [_damaged(damage) for damage in check_sample(lake, commit.tree, sample, progress=progress)]
    return Verified(commit, depth, problems)


def verify_folder(
    api: Api, copy: WorkingCopy, *, depth: Depth, sample: int = 0, progress: Progress | None = None
) -> Verified:
    """Compare a working copy with the commit it holds: names, kinds and sizes, `sample` files wholly, or every byte."""
    if copy.head is None:
        raise NotFound(f"{copy.root} has never been synced.", hint="Run: mill data sync")
    commit = get_commit(api, copy.project, copy.dataset, copy.head)
    with ApiDownloader(api, copy.project, copy.dataset, commit.id) as lake:
        wanted = frozenset(sample_paths(lake, commit.tree, sample)) if depth is Depth.SAMPLE else frozenset()
        changes = check_directory(
            lake,
            commit.tree,
            copy.root,
            chosen=chooser(copy.only),
            reads=lambda path: depth is Depth.FULL or path in wanted,
            stand_ins=copy.stand_ins,
            progress=progress,
        )
        return Verified(commit, depth, [_differs(change) for change in changes])


def _check_commit(lake: ApiDownloader, commit: Commit) -> Iterator[Damage]:
    """The server answers from its database: what counts after a reindex is the document in the lake."""
    try:
        # Read again if it is not what it should be: it may have been damaged on the way.
        intact = any(digest_of(lake.commit_document()).hex() == commit.id for _ in range(2))
    except DAMAGE:
        intact = False
    if not intact:
        yield Damage(f"The document of commit {commit.id[:12]} is damaged or missing from the lake.", ())


def _check_packs(lake: ApiDownloader) -> Iterator[Damage]:
    """The index at the end of each pack that was met: nothing reads it but a reindex, which needs all of it."""
    for pack_id, size in sorted(lake.pack_sizes.items()):
        try:
            read_index(pack_id, size, partial(lake.pack_range, pack_id))
        except DAMAGE as error:
            yield Damage(error.message, ())
        else:
            yield from _check_end(lake, pack_id, size)


def _check_end(lake: ApiDownloader, pack_id: str, size: int) -> Iterator[Damage]:
    """A reindex looks for the index before the last byte, wherever that is: nothing may have been added to a pack."""
    try:
        lake.pack_range(pack_id, size, size + 1)
    except Corrupt:
        return
    yield Damage(f"Pack {pack_id[:12]} is longer in the lake than the {size} bytes that were written.", ())


def _damaged(damage: Damage) -> FoundDamage:
    return FoundDamage(damage.what, tuple(to_text(path) for path in damage.paths[:_PATHS_NAMED]))


def _differs(change: TreeChange) -> FoundDamage:
    words = {"added": "is not in the commit", "removed": "is missing", "changed": "differs from the commit"}
    return FoundDamage(words[change.change], (to_text(change.path),))
