"""From a commit to a folder: fetched beside its place, checked, and put there in one step."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from millpond.client.datasets import get_commit, get_dataset, list_refs
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.client.working_copy import WorkingCopy
from millpond.errors import Conflict, Forbidden
from millpond.lake.fetch import Fetched, fetch_tree
from millpond.lake.transfer import Progress
from millpond.model.dataset import RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.wire.data import Commit


@dataclass(frozen=True, slots=True)
class Cloned:
    commit: Commit
    copy: WorkingCopy
    fetched: Fetched


def clone(
    api: Api, project: str, dataset: str, ref: str, directory: Path, *, progress: Progress | None = None
) -> Cloned:
    """Bring a commit into `directory`, which must not exist or be empty; it is a working copy afterwards."""
    _check_free(directory)
    found = get_dataset(api, project, dataset)
    commit = get_commit(api, project, dataset, ref)
    branch = _branch_of(api, project, dataset, ref)
    copy = WorkingCopy(
        root=directory.absolute(),
        server=api.base_url,
        project=project,
        dataset=dataset,
        dataset_id=found.id,
        branch=branch or DEFAULT_BRANCH,
        head=commit.id,
    )
    temporary = _beside(directory)
    try:
        with ApiDownloader(api, project, dataset, commit.id) as downloader:
            fetched = fetch_tree(downloader, commit.tree, temporary, progress=progress)
        if directory.exists():
            directory.rmdir()
        temporary.rename(directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    copy.save()
    return Cloned(commit, copy, fetched)


def _check_free(directory: Path) -> None:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Conflict(f"{directory} is there already and not an empty folder.", hint="Name another folder.")


def _beside(directory: Path) -> Path:
    """A new folder on the same file system, so that it can be renamed."""
    parent = directory.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".part", dir=parent))
        made.chmod(0o755)
    except PermissionError as error:
        raise Forbidden(f"{parent} cannot be written: {error.strerror}.") from error
    return made


def _branch_of(api: Api, project: str, dataset: str, ref: str) -> str | None:
    """`ref` if it names a branch: `sync` then goes on there."""
    branches = {r.name for r in list_refs(api, project, dataset) if r.type is RefType.BRANCH}
    return ref if ref in branches else None
