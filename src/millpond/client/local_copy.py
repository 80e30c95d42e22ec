"""Where a commit lies on this machine as plain files: a job's input, a mounted volume, or a copy of the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from millpond.client.caches import list_cached
from millpond.client.credentials import cache_dir
from millpond.client.http import Api
from millpond.client.make_once import Alive, make_once
from millpond.client.transfer import ApiDownloader
from millpond.errors import Forbidden, NotFound, NotReady, NotSignedIn
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.transfer import Moved
from millpond.model.cached_state import CachedState
from millpond.model.ids import is_digest
from millpond.model.names import environment_name
from millpond.wire.cache import CachedCommit
from millpond.wire.data import Commit

# Has a cached commit stay while it is read; NotReady or NotFound if it may not be.
Hold = Callable[[CachedCommit], None]


class LocalCopy(NamedTuple):
    """`kind`: `job input`, `volume` (a cached commit) or `copy` (the user's own)."""

    path: Path
    kind: str


def local_copy(
    api: Api, project: str, dataset: str, commit: Commit, *, hold: Hold, environ: Mapping[str, str] = os.environ
) -> LocalCopy:
    """A folder with the files of `commit`, not to be changed. Fetched only if nothing nearer has them.

    What lies on a volume is held; inside a job its inputs are, until the job ends.
    """
    given = job_input(dataset, environ)
    if given is not None and given.name == commit.id:
        return LocalCopy(given, "job input")
    if (cached := _on_volume(api, project, dataset, commit, hold)) is not None:
        return LocalCopy(cached, "volume")
    return LocalCopy(_own_copy(api, project, dataset, commit, environ), "copy")


def job_input(dataset: str, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder in which a job finds its input of this name; the folder's own name is the commit."""
    given = environ.get(environment_name(dataset))
    return Path(given) if given and is_digest(Path(given).name) and Path(given).is_dir() else None


def _on_volume(api: Api, project: str, dataset: str, commit: Commit, hold: Hold) -> Path | None:
    """A mounted volume that has the commit: what lies under a published path is whole."""
    try:
        for cached in list_cached(api, project=project, dataset=dataset):
            if cached.commit_id == commit.id and cached.state is CachedState.READY:
                path = Path(cached.path)
                if path.is_dir() and os.access(path, os.R_OK | os.X_OK) and _is_held(cached, hold):
                    return path
    except (Forbidden, NotSignedIn):
        return None  # a job's token may not see volumes
    return None


def _is_held(cached: CachedCommit, hold: Hold) -> bool:
    """Whether it may be read; not if it is on its way out this moment."""
    try:
        hold(cached)
    except (NotReady, NotFound):
        return False
    return True


def _own_copy(api: Api, project: str, dataset: str, commit: Commit, environ: Mapping[str, str]) -> Path:
    target = cache_dir(environ) / project / dataset / commit.id

    def fill(directory: Path, alive: Alive) -> None:
        def moved(now: Moved) -> None:
            alive()

        with ApiDownloader(api, project, dataset, commit.id) as downloader:
            fetch_tree(downloader, commit.tree, directory, options=FetchOptions(read_only=True), progress=moved)

    return make_once(target, fill)
