"""Large artifacts in parts: uploads by signed URLs of the store, downloads by ranges through the server."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from millpond.api.mlflow.artifacts import PREFIX, opened, writable
from millpond.api.mlflow.endpoint import Call, Endpoint, whole
from millpond.errors import Invalid
from millpond.model.people import Role
from millpond.services.runs import part_uploads

_ROOT = "mlflow-artifacts"


def create(call: Call) -> dict[str, Any]:
    run_id, path = _place(call)
    asked = call.number("num_parts", 1) or 0
    made = part_uploads.create(call.deps, call.actor, call.project, run_id, path, asked)
    credentials = [
        {
            "url": f"{call.server_url}{one.url}" if one.url.startswith("/") else one.url,
            "part_number": number,
            "headers": dict(one.headers),
        }
        for number, one in enumerate(made.urls, start=1)
    ]
    return {"upload_id": made.id, "credentials": credentials}


def complete(call: Call) -> dict[str, Any]:
    run_id, path = _place(call)
    if not all(isinstance(part, dict) for part in call.many("parts")):
        raise Invalid("Invalid value for parameter 'parts': expected objects with part_number.", fields=["parts"])
    numbers = [whole(part.get("part_number"), "part_number") for part in call.many("parts")]
    upload_id = call.text("upload_id")
    part_uploads.complete(call.deps, call.actor, call.project, run_id, path, upload_id, numbers)
    return {}


def abort(call: Call) -> dict[str, Any]:
    run_id, _ = _place(call)
    part_uploads.abort(call.deps, call.actor, call.project, run_id, call.text("upload_id"))
    return {}


def get_presigned_download(call: Call) -> dict[str, Any]:
    """The artifact's own address, which answers ranges; with the header that the caller has signed in with here."""
    path = call.text("artifact_path")
    url = f"{call.server_url}/mlflow/{quote(call.project.name)}/api/2.0/{PREFIX}/{quote(path)}"
    return {"url": url, "headers": {"Authorization": call.authorization}, "file_size": opened(call, path).size}


def _place(call: Call) -> tuple[str, str]:
    """The run and the path in it: the folder stands in the address, the name at the end of a path of the client's."""
    name = re.split(r"[/\\]", call.text("path"))[-1]
    place = writable(call, f"{call.text('artifact_path')}/{name}")
    return place.run_id, place.path


ENDPOINTS = (
    Endpoint("POST", "mpu/create/{artifact_path:path}", Role.MEMBER, create, root=_ROOT),
    Endpoint("POST", "mpu/complete/{artifact_path:path}", Role.MEMBER, complete, root=_ROOT),
    Endpoint("POST", "mpu/abort/{artifact_path:path}", Role.MEMBER, abort, root=_ROOT),
    Endpoint("GET", "presigned/{artifact_path:path}", Role.VIEWER, get_presigned_download, root=_ROOT),
)
