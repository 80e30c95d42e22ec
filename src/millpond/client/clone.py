"""From a commit to a folder: fetched beside its place, checked, and put there in one step.

Cut off at any moment, the next clone into the same folder goes on with what has come.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from millpond.client.commits import find_commit, find_refs
from millpond.client.http import Api
from millpond.client.part_folders import PART, find_parts, hold
from millpond.client.transfer import ApiDownloader
from millpond.client.working_copy import WorkingCopy
from millpond.errors import BadRequest, Conflict, Corrupt, Forbidden, MillError, Unavailable
from millpond.lake.choice import chooser
from millpond.lake.fetch import Fetched, FetchOptions, fetch_tree
from millpond.lake.transfer import Progress
from millpond.model.dataset import RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.quick.data import Commit


class Cloned(NamedTuple):
    commit: Commit
    copy: WorkingCopy
    fetched: Fetched


def clone(
    api: Api,
    project: str,
    dataset: str,
    ref: str,
    directory: Path,
    *,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> Cloned:
    """Bring a commit into `directory`, which must not exist or be empty; it is a working copy afterwards.

    `only` are patterns of paths: others are not fetched, and stay as they are when the folder is synced.
    """
    directory = _free(directory)
    options = FetchOptions(only=chooser(only)) if only else FetchOptions()
    commit = find_commit(api, project, dataset, ref)
    branch = branch_of(api, project, dataset, ref)
    copy = WorkingCopy(
        root=directory,
        server=api.base_url,
        project=project,
        dataset=dataset,
        dataset_id=commit.dataset_id,
        branch=branch or DEFAULT_BRANCH,
        head=commit.id,
        only=tuple(only),
    )
    with _beside(directory) as (temporary, left), ApiDownloader(api, project, dataset, commit.id) as downloader:
        try:
            goes_on = _with_left(options, left) if left else options
            fetched = fetch_tree(downloader, commit.tree, temporary, options=goes_on, progress=progress)
        except Corrupt as error:
            hint = error.hint or f"List the damaged files: mill data verify {project}/{dataset}@{ref} --full"
            raise Corrupt(error.message, hint=hint) from error
        # Before the rename: a folder that stands in its place knows what it is.
        replace(copy, root=temporary).note_fetched(fetched.external)
        replace(copy, root=temporary).save()
        _put_in_place(temporary, directory)
    return Cloned(commit, copy, fetched)


def _with_left(options: FetchOptions, left: Sequence[Path]) -> FetchOptions:
    """The same, with what earlier clones have brought."""
    # Reading files needs what cuts them, which those who only write would wait for.
    from millpond.client.clone_leftovers import LeftBehind  # noqa: PLC0415

    came = LeftBehind(left)
    return replace(options, local=came, begin=came.begin)


def _free(directory: Path) -> Path:
    """`directory` itself, or the empty folder that a link of this name leads to."""
    try:
        if not os.path.lexists(directory) or (directory.is_dir() and not any(directory.iterdir())):
            return directory.resolve()
    except OSError as error:
        raise _unusable(directory, error) from error
    raise _taken(directory)


def _put_in_place(temporary: Path, directory: Path) -> None:
    try:
        if directory.exists():
            directory.rmdir()
        temporary.rename(directory)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise _taken(directory) from error
        raise _unusable(directory, error) from error


def _taken(directory: Path) -> Conflict:
    return Conflict(f"{directory} already exists and is not empty.", hint="Choose another folder.")


def _unusable(directory: Path, error: OSError) -> MillError:
    kind = Forbidden if isinstance(error, PermissionError) else BadRequest
    return kind(f"Cannot write to {directory}: {error.strerror}.", hint="Choose another folder.")


@contextmanager
def _beside(directory: Path) -> Iterator[tuple[Path, list[Path]]]:
    """A new folder on the same file system, to be renamed, and those that clones which were cut off have left.

    It stays if only the lake was away or somebody lost patience: the next clone goes on with what is there.
    """
    parent = directory.parent
    with ExitStack() as stack:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            left = find_parts(directory, stack)
            made = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=PART, dir=parent))
            made.chmod(0o755)
        except OSError as error:
            raise _unusable(parent, error) from error
        hold(made, stack)
        try:
            yield made, left
        except (Unavailable, KeyboardInterrupt):
            raise
        except BaseException:
            _remove(made, *left)
            raise
        _remove(made, *left)


def _remove(*folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def branch_of(api: Api, project: str, dataset: str, ref: str) -> str | None:
    """`ref` if it names a branch: `sync` then goes on there."""
    branches = {r.name for r in find_refs(api, project, dataset) if r.type is RefType.BRANCH}
    return ref if ref in branches else None
