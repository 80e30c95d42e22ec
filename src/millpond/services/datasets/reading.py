"""Reading what is committed: histories and directories."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from sqlalchemy import Connection

from millpond.db import caches, commits, lineage
from millpond.db.caches import CachedView
from millpond.db.lineage import CommitJob
from millpond.errors import BadRequest, NotFound
from millpond.lake.listing import Listed, list_directory
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit, Dataset, DatasetKind
from millpond.model.path import check_path, from_text, to_text
from millpond.model.people import Actor
from millpond.model.tree import Content, Kind
from millpond.services import listing
from millpond.services.commits import refs
from millpond.services.commits.pages import ProjectPages
from millpond.services.datasets import datasets
from millpond.services.datasets.folders import leaf_folders
from millpond.services.deps import Deps
from millpond.services.listing import Listing
from millpond.services.runs import artifact_commits
from millpond.services.time_cursors import moment_of, written_moment

_KINDS: Mapping[Kind, Literal["directory", "symlink", "file", "executable"]] = {
    Kind.DIRECTORY: "directory",
    Kind.SYMLINK: "symlink",
    Kind.FILE: "file",
    Kind.EXECUTABLE: "executable",
}


@dataclass(frozen=True, slots=True)
class CommitView:
    """A commit with the refs at it, where it is cached, and of code and outputs the newest few of its jobs."""

    dataset: Dataset
    commit: Commit
    refs: Sequence[str]
    cached: Sequence[CachedView]
    jobs: Sequence[CommitJob]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One name in a directory. `path` is in text form: `\\xNN` for bytes that are not UTF-8."""

    path: str
    name: str
    kind: Literal["directory", "symlink", "file", "executable"]
    size: int
    files: int  # of a directory: all below it
    digest: str | None
    external: bool  # its content lies outside the lake


def pages_of(deps: Deps, dataset: Dataset) -> ProjectPages:
    return ProjectPages(deps.store, deps.pages, dataset.project_id)


def reader_of(deps: Deps, dataset: Dataset, commit: Commit) -> TreeReader:
    return TreeReader(pages_of(deps, dataset), commit.tree)


def find_commit(deps: Deps, actor: Actor, text: str, *, project: str | None = None) -> tuple[Dataset, Commit]:
    """The dataset and commit of `dataset@ref`, for someone who sees it (see `datasets.find_written`)."""
    with deps.db.read() as tx:
        dataset, ref = datasets.find_written(tx, actor, text, project=project)
    return dataset, get_commit(deps, dataset, ref)


def get_commit(deps: Deps, dataset: Dataset, ref: str | None) -> Commit:
    """The commit a ref names; of a run's artifacts, with everything the run has logged so far."""
    if dataset.kind is DatasetKind.ARTIFACT and ref:
        artifact_commits.gather_named(deps, dataset, ref)
    with deps.db.read() as tx:
        return refs.resolve(tx, dataset, ref)


def history(deps: Deps, dataset: Dataset, *, ref: str | None, limit: int, cursor: str | None) -> Listing[CommitView]:
    """The commits a ref has grown from, newest first. The cursor holds the commits to go on from.

    Code and outputs have a branch for each commit and none for all: without a ref, all of them are listed.
    """
    if ref is None and dataset.kind is not DatasetKind.DATA:
        return _everything(deps, dataset, limit=limit, cursor=cursor)
    starts = _frontier(cursor) if cursor else [get_commit(deps, dataset, ref).id]
    with deps.db.read() as tx:
        shown, rest = _walk(tx, dataset, starts, limit)
        items = commit_views(tx, dataset, shown)
    return Listing(items, listing.encode([*rest]) if rest else None)


def _everything(deps: Deps, dataset: Dataset, *, limit: int, cursor: str | None) -> Listing[CommitView]:
    with deps.db.read() as tx:
        found = commits.page(tx, dataset.id, limit=limit + 1, before=moment_of(cursor))
        items = commit_views(tx, dataset, found)
    return listing.page_of(items, limit, key=lambda item: written_moment(item.commit.time, item.commit.id))


def commit_view(deps: Deps, dataset: Dataset, commit: Commit) -> CommitView:
    with deps.db.read() as tx:
        return commit_views(tx, dataset, [commit])[0]


def commit_views(tx: Connection, dataset: Dataset, found: Sequence[Commit]) -> list[CommitView]:
    """Commits with the refs at them, where they are cached, and of code and outputs their jobs."""
    ids = [commit.id for commit in found]
    of_jobs = lineage.jobs_of_commits(tx, ids) if dataset.kind is not DatasetKind.DATA else {}
    names = commits.ref_names(tx, ids)
    held = caches.of_commits(tx, ids)
    return [
        CommitView(
            dataset=dataset,
            commit=commit,
            refs=names.get(commit.id, ()),
            cached=[view for view in held if view.cached.commit_id == commit.id],
            jobs=of_jobs.get(commit.id, ()),
        )
        for commit in found
    ]


def entries(
    deps: Deps, dataset: Dataset, commit: Commit, *, path: str, limit: int, cursor: str | None, start: str = ""
) -> Listing[TreeEntry]:
    """One directory, from the name `start` on; NotFound if the path is none."""
    directory = directory_path(path)
    folders = partial(leaf_folders, deps, dataset.project_id)
    reader = reader_of(deps, dataset, commit)
    if start and not reader.is_directory(directory):
        raise NotFound(f"No directory {path!r} in this tree.")
    begin = place_of(cursor) or from_text(start.partition("/")[0])
    part = list_directory(reader, directory, begin, limit, folders)
    items = [_entry(directory, item) for item in part.items]
    return Listing(items, listing.encode(part.next.hex()) if part.next is not None else None)


def directory_path(text: str) -> bytes:
    """A directory's path from its text form; empty (or `/`) is the root."""
    path = from_text(text.strip("/"))
    return check_path(path) if path else b""


def _walk(tx: Connection, dataset: Dataset, starts: Sequence[str], limit: int) -> tuple[list[Commit], list[str]]:
    """The newest `limit` commits reachable from `starts`, and the ids to go on from."""
    known = {commit.id: commit for commit in commits.get_many(tx, starts) if commit.dataset_id == dataset.id}
    waiting = [_sort_key(commit) for commit in known.values()]
    heapq.heapify(waiting)
    shown: list[Commit] = []
    while waiting and len(shown) < limit:
        commit = known[heapq.heappop(waiting)[1]]
        shown.append(commit)
        new = [parent for parent in commit.parents if parent not in known]
        for parent in commits.get_many(tx, new) if new else ():
            known[parent.id] = parent
            heapq.heappush(waiting, _sort_key(parent))
    return shown, [commit_id for _, commit_id in waiting]


def _sort_key(commit: Commit) -> tuple[float, str]:
    return (-commit.time.timestamp(), commit.id)


def _frontier(cursor: str) -> list[str]:
    found = listing.decode(cursor)
    if not isinstance(found, list) or not all(isinstance(part, str) for part in found):
        raise BadRequest(f"{cursor[:80]!r} is not a cursor of this list.")
    return [str(part) for part in found]


def place_of(cursor: str | None) -> bytes:
    """The bytes behind a cursor over paths or names; empty, and so before everything, without one."""
    try:
        return bytes.fromhex(listing.text_of(cursor))
    except ValueError as error:
        raise BadRequest(f"{str(cursor)[:80]!r} is not a cursor of this list.") from error


def _entry(directory: bytes, item: Listed) -> TreeEntry:
    path = directory + b"/" + item.name if directory else item.name
    kind = Kind.DIRECTORY if item.entry is None else item.entry.kind
    has_digest = item.entry is not None and item.entry.content is not Content.NOTHING
    return TreeEntry(
        path=to_text(path),
        name=to_text(item.name),
        kind=_KINDS[kind],
        size=item.size,
        files=item.entries,
        digest=item.entry.digest.hex() if item.entry is not None and has_digest else None,
        external=item.entry is not None and item.entry.content is Content.EXTERNAL,
    )
