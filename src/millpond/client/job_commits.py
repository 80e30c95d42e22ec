"""What a job leaves in the lake: a directory as the newest commit of the job's own branch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from millpond.client.commits import COMMIT_SECONDS, find_commit
from millpond.client.http import Api
from millpond.client.paths import dataset_path
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiUploader
from millpond.errors import NotFound, RefMoved
from millpond.lake.batch import Batch
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import Row
from millpond.lake.push import PushOptions, push_directory, seen_before
from millpond.model.path import to_text
from millpond.wire.quick.data import Commit, CommitCreate

log = logging.getLogger(__name__)


class JobBranch(NamedTuple):
    """Where a job or a workspace commits: a hidden dataset of its project, on a branch that is named after it."""

    project: str
    dataset: str
    job: str


def commit_directory(
    api: Api,
    branch: JobBranch,
    directory: Path,
    *,
    message: str,
    stat_cache: Path | None = None,
    note: Callable[[Sequence[Row]], None] = lambda rows: None,
    identify: Callable[[Iterator[Batch]], Iterator[Batch]] | None = None,
    known_tree: str | None = None,
    pack_target: int = PACK_TARGET,
) -> Commit:
    """Make everything below `directory` the newest commit of the branch.

    May be called again after any interruption: what is committed already is found again, and not sent twice.
    `stat_cache` is a file that remembers unchanged files between calls; `note` hears of every entry, perhaps twice.
    `identify` gives files of a copy the numbers of their originals, by which they are known to be unchanged;
    `known_tree` is one that the project has, whose pages need not be asked for. Some packs of `pack_target` bytes are
    in memory at once.
    """
    options = PushOptions(stat_cache=stat_cache, ignore_files=(), note=note, identify=identify, pack_target=pack_target)
    return until_complete(lambda: _commit(api, branch, directory, message, options, known_tree))


def head_of(api: Api, branch: JobBranch) -> Commit | None:
    """The newest commit of the branch; None before the first."""
    try:
        return find_commit(api, branch.project, branch.dataset, branch.job)
    except NotFound:
        return None


def _commit(
    api: Api, branch: JobBranch, directory: Path, message: str, options: PushOptions, known_tree: str | None
) -> Commit:
    head = head_of(api, branch)
    if head is not None and head.tree == seen_before(directory, options, _warn):
        return head
    with ApiUploader(api, branch.project, known_tree=head.tree if head else known_tree) as uploader:
        pushed = push_directory(directory, uploader, options=options, warn=_warn)
        if head is not None and head.tree == pushed.tree.root:
            return head
        request = CommitCreate(
            upload=uploader.id,
            tree=pushed.tree.root,
            branch=branch.job,
            expected=head.id if head else None,
            message=message,
        )
    path = f"{dataset_path(branch.project, branch.dataset)}/commits"
    try:
        return api.send("POST", path, Commit, request, idempotent=True, timeout=COMMIT_SECONDS)
    except RefMoved:
        made = head_of(api, branch)  # by an earlier try whose answer was lost
        if made is None or made.tree != pushed.tree.root:
            raise
        return made


def _warn(path: bytes, why: str) -> None:
    log.warning("skipped: %s: %s", to_text(path), why)
