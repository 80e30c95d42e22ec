"""Files by the addresses of MLflow's own page, which scripts use, too; they are not in its protocol.

/get-artifact?run_id=RUN&path=PATH
/model-versions/get-artifact?name=MODEL&version=3&path=PATH
/ajax-api/2.0/mlflow/upload-artifact?run_uuid=RUN&path=PATH      (POST)
/ajax-api/2.0/mlflow/logged-models/ID/artifacts/files?artifact_file_path=PATH
"""

from __future__ import annotations

import re
from collections.abc import Callable

from millpond.api.mlflow.endpoint import Call
from millpond.api.mlflow.registry import in_mlflows_words, name_of, version_of
from millpond.errors import BadPath, Invalid
from millpond.services.datasets.files import OpenFile
from millpond.services.models import version_files, versions
from millpond.services.runs import artifacts, logged_models
from millpond.services.runs.artifact_staging import check_name

UPLOAD = "mlflow/upload-artifact"
_MOST_UPLOADED = 10 << 20
_LOGGED_MODEL = re.compile(r"mlflow/logged-models/([^/]+)/artifacts/files")

Opener = Callable[[Call], OpenFile]


def opener_of(path: str) -> Opener | None:
    """What opens the file that a GET of this address means; None for any other address."""
    match path.removeprefix("ajax-api/2.0/mlflow/").strip("/"):
        case "get-artifact":
            return _of_run
        case "model-versions/get-artifact":
            return _of_version
    found = _LOGGED_MODEL.fullmatch(path.removeprefix("ajax-api/2.0/"))
    return (lambda call: _of_logged_model(call, found[1])) if found else None


def upload(call: Call, content: bytes) -> None:
    """A small file of a run."""
    run_id, path = call.optional("run_uuid", "run_id"), call.optional("path")
    if not run_id or not path:
        raise Invalid(f"Request must specify {'path' if run_id else 'run_uuid'}.")
    safe(path)
    if not content:
        raise Invalid("Request must specify data.")
    if len(content) > _MOST_UPLOADED:
        raise Invalid(f"Artifact size is too large. Max size is {_MOST_UPLOADED >> 20}MB.")
    artifacts.put(call.deps, call.actor, call.project, run_id, path, content)


def safe(path: str) -> str:
    """`path` itself; BadPath, as short as MLflow's, for one that leads elsewhere."""
    try:
        if path:
            check_name(path)
    except BadPath as error:
        raise BadPath("Invalid path") from error
    return path


def _of_run(call: Call) -> OpenFile:
    path = safe(call.text("path"))
    return artifacts.open_artifact(call.deps, call.actor, call.project, call.text("run_id", "run_uuid"), path)


def _of_version(call: Call) -> OpenFile:
    path, name, version = safe(call.text("path")), name_of(call), version_of(call)
    with in_mlflows_words(name, version):
        found = versions.get(call.deps, call.project, name, version).version
    return version_files.open_file(call.deps, call.actor, call.project, found.dataset_id, found.number, path)


def _of_logged_model(call: Call, model_id: str) -> OpenFile:
    path = safe(call.text("artifact_file_path"))
    model = logged_models.get(call.deps, call.actor, call.project, model_id)
    return artifacts.open_artifact(call.deps, call.actor, call.project, model.run_id, f"{model.folder}/{path}")
