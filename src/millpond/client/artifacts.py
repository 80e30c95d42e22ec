"""Artifacts of a run: files sent straight to the lake, listed, and brought back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal

from millpond.client.datasets import get_commit
from millpond.client.http import Api, segment
from millpond.client.paths import run_path
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.errors import BadRequest, NotFound
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Meter, Progress
from millpond.model.names import ARTIFACT_DATASET
from millpond.model.path import from_text
from millpond.model.tree import Content, Kind
from millpond.wire.runs import Artifact, ArtifactPut, ArtifactsLogged

_AT_ONCE = 5000
_SECONDS = 300.0
_CONTENTS: Mapping[Content, Literal["nothing", "blob", "chunks"]] = {
    Content.NOTHING: "nothing",
    Content.BLOB: "blob",
    Content.CHUNKS: "chunks",
}


def send_artifacts(uploader: ApiUploader, api: Api, project: str, run: str, files: Mapping[str, Path]) -> None:
    """Send files of any size under these names. They are listed and readable when this returns.

    Content the project has already is not sent. OSError for a file that cannot be read.
    """
    waiting = iter(files.items())
    while batch := dict(islice(waiting, _AT_ONCE)):
        _send(uploader, api, f"{run_path(project, run)}/artifacts", batch)


def _send(uploader: ApiUploader, api: Api, path: str, files: Mapping[str, Path]) -> None:
    def push() -> None:
        with Packer(uploader, Meter(None), PACK_TARGET) as packer:
            puts = [_put(packer, name, file) for name, file in files.items()]
            packer.finish()
        body = ArtifactsLogged(upload=uploader.id, puts=puts)
        api.request("POST", path, body=body, idempotent=True, timeout=_SECONDS)

    until_complete(push)


def _put(packer: Packer, name: str, file: Path) -> ArtifactPut:
    folder, _, base = os.fsencode(file.resolve()).rpartition(b"/")
    entry = read_chunks(folder, base, packer.add).entry
    return ArtifactPut(
        path=name,
        kind="executable" if entry.kind is Kind.EXECUTABLE else "file",
        size=entry.size,
        content=_CONTENTS[entry.content],
        digest=entry.digest.hex() if entry.content is not Content.NOTHING else None,
    )


def list_artifacts(api: Api, project: str, run: str, path: str = "") -> Iterator[Artifact]:
    """Every file of a run, or those below a folder, by path."""
    return api.items(f"{run_path(project, run)}/artifacts", Artifact, path=path or None)


def download_artifacts(
    api: Api, project: str, run: str, target: Path, *, path: str = "", progress: Progress | None = None
) -> list[Artifact]:
    """Write a run's files, or the file or folder `path`, into the folder `target`; what was written.

    Straight from the store, every byte checked. BadRequest if something there would be overwritten.
    """
    wanted = _wanted(api, project, run, path)
    if not wanted:
        return []
    taken = [item.path for item in wanted if os.path.lexists(target / item.path)]
    if taken:
        raise BadRequest(f"{target / taken[0]} already exists.", hint="Name another folder with --to.")
    commit = get_commit(api, project, ARTIFACT_DATASET, run)
    target.mkdir(parents=True, exist_ok=True)
    paths = sorted(from_text(item.path) for item in wanted)
    # Aside first: whoever is cut off has no half file under a name that looks whole.
    with tempfile.TemporaryDirectory(prefix=".mill-", dir=target) as aside:
        with ApiDownloader(api, project, ARTIFACT_DATASET, commit.id) as source:
            fetch_tree(source, commit.tree, Path(aside), options=FetchOptions(paths=paths), progress=progress)
        for item in wanted:
            place = target / item.path
            place.parent.mkdir(parents=True, exist_ok=True)
            Path(aside, item.path).rename(place)
    return wanted


def _wanted(api: Api, project: str, run: str, path: str) -> list[Artifact]:
    path = path.strip("/")
    below = list(list_artifacts(api, project, run, path))
    if not path or below:
        return below
    found = [item for item in list_artifacts(api, project, run) if item.path == path]
    if not found:
        raise NotFound(f"Run {run} has no artifact {path!r}.", hint=f"List them: mill run artifacts {segment(run)}")
    return found
