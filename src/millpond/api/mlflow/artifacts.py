"""Artifacts as MLflow's clients reach them: through the server, below /api/2.0/mlflow-artifacts/artifacts.

`artifact_places.py` says what a path there means.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any

from starlette.requests import Request
from starlette.responses import Response

from millpond.api.file_answers import WantedPart, answer_file
from millpond.api.mlflow.artifact_places import RunPlace, VersionPlace, located
from millpond.api.mlflow.endpoint import Call, Endpoint
from millpond.api.mlflow.page_files import safe
from millpond.api.mlflow.runs import run_id_of
from millpond.api.mlflow.shapes import artifact_uri
from millpond.errors import Forbidden
from millpond.model.artifact import ArtifactEntry
from millpond.model.people import Role
from millpond.services.datasets.files import OpenFile
from millpond.services.listing import Listing
from millpond.services.models import version_files
from millpond.services.runs import artifact_removal, artifacts

PREFIX = "mlflow-artifacts/artifacts"
# Kept in memory up to this size on its way into the lake, then in a temporary file.
_IN_MEMORY = 8 << 20
_PIECE = 1 << 20
_MOST = 1000


def list_of_run(call: Call) -> dict[str, Any]:
    """One folder of a run's artifacts; paths begin at the run."""
    run_id, folder = run_id_of(call), safe((call.optional("path") or "").strip("/"))
    found = artifacts.list_folder(
        call.deps, call.actor, call.project, run_id, path=folder, limit=_MOST,
        cursor=call.optional("page_token") or None,
    )  # fmt: skip
    shown: dict[str, Any] = {
        "root_uri": artifact_uri(call.project.name, run_id),
        "files": [_file(one, f"{folder}/{one.name}" if folder else one.name) for one in found.items],
    }
    return shown | ({"next_page_token": found.next} if found.next else {})


def list_folder(call: Call) -> dict[str, Any]:
    """One folder of the artifact store; paths begin at the folder."""
    place = located(call, call.optional("path") or "")
    files: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        found = _page(call, place, cursor)
        files += [_file(one, one.name) for one in found.items]
        cursor = found.next
        if cursor is None:
            return {"files": files}


def _page(call: Call, place: RunPlace | VersionPlace, cursor: str | None) -> Listing[ArtifactEntry]:
    asked: dict[str, Any] = {"path": place.path, "limit": _MOST, "cursor": cursor}
    if isinstance(place, RunPlace):
        return artifacts.list_folder(call.deps, call.actor, call.project, place.run_id, **asked)
    return version_files.list_folder(call.deps, call.project, place.model_id, place.number, **asked)


async def receive(request: Request) -> IO[bytes]:
    """The body of an upload, rewound."""
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by whoever stores it
    try:
        async for piece in request.stream():
            file.write(piece)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def store(call: Call, path: str, file: IO[bytes]) -> None:
    """Durable and listed when it returns."""
    with file:
        size = file.seek(0, 2)
        file.seek(0)
        place = writable(call, path)
        artifacts.put_stream(call.deps, call.actor, call.project, place.run_id, place.path, size, _pieces(file))


def remove(call: Call, path: str) -> None:
    """A file, or a folder with all that is in it."""
    place = writable(call, path)
    artifact_removal.remove(call.deps, call.actor, call.project, place.run_id, place.path)


def writable(call: Call, path: str) -> RunPlace:
    """Forbidden for the files of a version."""
    place = located(call, path)
    if not isinstance(place, RunPlace):
        raise Forbidden("The files of a version cannot be changed.", hint="Register a new version.")
    return place


def opened(call: Call, path: str) -> OpenFile:
    place = located(call, path)
    if isinstance(place, RunPlace):
        return artifacts.open_artifact(call.deps, call.actor, call.project, place.run_id, place.path)
    return version_files.open_file(call.deps, call.actor, call.project, place.model_id, place.number, place.path)


def download(call: Call, path: str, request: Request) -> Response:
    return answer(call, opened(call, path), request)


def answer(call: Call, file: OpenFile, request: Request) -> Response:
    headers = request.headers
    wanted = WantedPart(headers.get("range"), headers.get("if-range"), headers.get("if-none-match"))
    return answer_file(call.deps, file, wanted, download=True)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _file(one: ArtifactEntry, path: str) -> dict[str, Any]:
    return {"path": path, "is_dir": True} if one.is_folder else {"path": path, "is_dir": False, "file_size": one.size}


ENDPOINTS = (Endpoint("GET", "artifacts/list", Role.VIEWER, list_of_run),)
