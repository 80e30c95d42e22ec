"""Saved flows over the API."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from millpond.client.flows.flow_file import FlowFile, problems_error
from millpond.client.http import Api, segment
from millpond.errors import BadFormat, Conflict, Invalid
from millpond.model.flow import FlowProblem
from millpond.model.program import content, mode_of
from millpond.wire.flows import Flow, FlowProblems, FlowVersion, FlowVersionList

_YAML, _ZIP = "application/yaml", "application/zip"


def list_flows(api: Api, project: str, *, at_most: int | None = None) -> Iterator[Flow]:
    return api.items(_path(project), Flow, at_most=at_most)


def get_flow(api: Api, project: str, flow: str, version: int | None = None) -> Flow:
    """With its text, and what that says."""
    return api.get(_path(project, flow), Flow, version=version)


def list_versions(api: Api, project: str, flow: str) -> list[FlowVersion]:
    """Newest first."""
    return api.get(f"{_path(project, flow)}/versions", FlowVersionList).items


def validate_flow(api: Api, project: str, body: bytes) -> list[FlowProblem]:
    """Every problem that the server finds in a YAML text or a zip; nothing is saved."""
    path = f"/projects/{segment(project)}/flows:validate"
    found = api.send("POST", path, FlowProblems, body, idempotent=True)
    return [FlowProblem(**one.model_dump()) for one in found.problems]


def save_flow(api: Api, project: str, file: FlowFile, *, expected: int | None = None) -> Flow:
    """Save a version, unless the newest is the same (`is_new`). Invalid with all problems of a flow that cannot run.

    `expected` is the version that was changed, 0 for a new flow: Conflict if there is a newer one.
    """
    flow = file.require_flow()
    headers = {} if expected is None else {"If-Match": f'"{expected}"'}
    try:
        answer = api.request("PUT", _path(project, flow.name), body=file.packed(), headers=headers)
    except Invalid as error:
        problems = error.details.get("problems")
        if not problems:
            raise
        raise problems_error(file.path, [FlowProblem(**one) for one in problems]) from error
    return Flow.model_validate_json(answer.content)


def flow_bundle(api: Api, project: str, flow: str, version: int | None = None) -> bytes:
    """Everything that was saved as a version, as a zip."""
    answer = api.request("GET", _path(project, flow), params={"version": version}, headers={"Accept": _ZIP})
    return answer.content


def flow_files(bundle: bytes) -> Mapping[str, bytes]:
    """The files of a bundle by path. BadFormat for paths that leave the folder."""
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        members = [one for one in archive.infolist() if not one.is_dir()]
        files = {
            one.filename: content(archive.read(one), executable=bool(one.external_attr >> 16 & 0o111))
            for one in members
        }
    for path in files:
        if path.startswith("/") or ".." in Path(path).parts:
            raise BadFormat(f"The server sent the file {path!r}, which is not inside of the flow.")
    return files


def export_flow(api: Api, project: str, flow: str, folder: Path, version: int | None = None) -> list[Path]:
    """Write everything that was saved into a folder. Conflict, and nothing written, if that changes a file."""
    files = flow_files(flow_bundle(api, project, flow, version))
    for path, data in files.items():
        target = folder / path
        if target.exists() and (not target.is_file() or target.read_bytes() != data):
            raise Conflict(f"{target} is there with other content.", hint="Export into another folder: -o FOLDER")
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        (folder / path).chmod(mode_of(data) & 0o777)
    return [folder / path for path in files]


def delete_flow(api: Api, project: str, flow: str) -> None:
    """Remove the flow and its versions; its runs stay."""
    api.request("DELETE", _path(project, flow))


def _path(project: str, flow: str | None = None) -> str:
    below = f"/{segment(flow)}" if flow is not None else ""
    return f"/projects/{segment(project)}/flows{below}"
