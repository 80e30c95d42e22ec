"""From a commit to a folder: fetched beside its place, checked, and put there in one step."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path

from millpond.client.datasets import get_commit, get_dataset, list_refs
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.client.working_copy import WorkingCopy
from millpond.errors import BadRequest, Conflict, Corrupt, Forbidden, MillError
from millpond.lake.choice import chooser
from millpond.lake.fetch import Fetched, FetchOptions, fetch_tree
from millpond.lake.transfer import Progress
from millpond.model.dataset import RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.data import Commit

try:
    import fcntl
except ImportError:  # not POSIX: what a killed clone left is then for its owner to remove
    fcntl = None  # type: ignore[assignment]

_PART = ".part"


@dataclass(frozen=True, slots=True)
class Cloned:
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
    found = get_dataset(api, project, dataset)
    commit = get_commit(api, project, dataset, ref)
    branch = branch_of(api, project, dataset, ref)
    copy = WorkingCopy(
        root=directory,
        server=api.base_url,
        project=project,
        dataset=dataset,
        dataset_id=found.id,
        branch=branch or DEFAULT_BRANCH,
        head=commit.id,
        only=tuple(only),
    )
    with _beside(directory) as temporary, ApiDownloader(api, project, dataset, commit.id) as downloader:
        try:
            fetched = fetch_tree(downloader, commit.tree, temporary, options=options, progress=progress)
        except Corrupt as error:
            hint = error.hint or f"See which files it concerns: mill data verify {project}/{dataset}@{ref} --full"
            raise Corrupt(error.message, hint=hint) from error
        # Before the rename: a folder that stands in its place knows what it is.
        replace(copy, root=temporary).note_fetched(fetched.external)
        replace(copy, root=temporary).save()
        _put_in_place(temporary, directory)
    return Cloned(commit, copy, fetched)


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
    return Conflict(f"{directory} is there already and not an empty folder.", hint="Name another folder.")


def _unusable(directory: Path, error: OSError) -> MillError:
    kind = Forbidden if isinstance(error, PermissionError) else BadRequest
    return kind(f"{directory} cannot be written: {error.strerror}.", hint="Name another folder.")


@contextmanager
def _beside(directory: Path) -> Iterator[Path]:
    """A new folder on the same file system, to be renamed; whatever is left of it goes with the block.

    It is locked while it is in use. One that nobody holds belonged to a clone that was killed, and goes now.
    """
    parent = directory.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f".{escape(directory.name)}.*{_PART}") if fcntl else ():
            _remove_if_abandoned(left)
        made = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=_PART, dir=parent))
        made.chmod(0o755)
    except OSError as error:
        raise _unusable(parent, error) from error
    held = os.open(made, os.O_RDONLY) if fcntl else None
    try:
        if held is not None:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield made
    finally:
        if held is not None:
            os.close(held)
        shutil.rmtree(made, ignore_errors=True)


def _remove_if_abandoned(left: Path) -> None:
    with suppress(OSError):
        held = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(held)


def branch_of(api: Api, project: str, dataset: str, ref: str) -> str | None:
    """`ref` if it names a branch: `sync` then goes on there."""
    branches = {r.name for r in list_refs(api, project, dataset) if r.type is RefType.BRANCH}
    return ref if ref in branches else None
