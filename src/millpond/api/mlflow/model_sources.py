"""What MLflow's clients name as the source of a version: URIs of runs, logged models, versions, or files elsewhere."""

from __future__ import annotations

import re
from urllib.parse import unquote

from millpond.api.mlflow.artifact_places import RunPlace, located
from millpond.api.mlflow.endpoint import Call
from millpond.api.mlflow.shapes import artifact_uri
from millpond.errors import Invalid, NotFound
from millpond.model.logged_model import LOGGED_MODELS
from millpond.model.model import FromElsewhere, FromLoggedModel, FromRun, FromVersion, ModelSource, split_written
from millpond.services.models import version_files
from millpond.services.models.sources import knows_run
from millpond.services.runs import artifacts, logged_models

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_LOCAL = "To use a local path as a model version source, log the model to a run first: others cannot read the path"
_RELATIVE = "If supplying a source as an http, https, s3 or similar URI, it must be an absolute path without '..'"
_HOST = re.compile(r"^//[^/]+")


def source_of(call: Call, written: str) -> ModelSource:
    """Where the files of a version come from. Invalid for a path of the client's machine, and for one with `..`."""
    scheme, colon, rest = written.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme) or scheme.lower() == "file":
        raise _invalid(
            written,
            _LOCAL,
        )
    plain = unquote(unquote(written)).replace("\\", "/")
    if ".." in plain.split("/") or not plain.isprintable():
        raise _invalid(written, _RELATIVE)
    # By hand: in names of models, `#` and `?` are letters like others.
    path = _HOST.sub("", rest).strip("/")
    match scheme:
        case "models":
            return _of_model(call, written, path)
        case "runs":
            run_id, _, inner = path.partition("/")
            known = knows_run(call.deps, call.project, run_id)
            return FromRun(run_id, inner) if known else FromElsewhere(written)
        case "mlflow-artifacts":
            return FromElsewhere(written) if _HOST.match(rest) else _of_artifacts(call, written, path)
    return FromElsewhere(written)


def _of_model(call: Call, written: str, path: str) -> ModelSource:
    """`models:/m-…`, `models:/NAME/3` or `models:/NAME@champion`."""
    name, slash, version = path.rpartition("/")
    if slash:
        return FromVersion(name, version)
    if "@" in path:
        return FromVersion(*split_written(path))
    if path.startswith("m-"):
        return _of_logged_model(call, path)
    raise _invalid(written, "Expected models:/ID, models:/NAME/VERSION or models:/NAME@ALIAS")


def _of_logged_model(call: Call, model_id: str) -> ModelSource:
    """One whose files are still to come is only pointed to."""
    model = logged_models.get(call.deps, call.actor, call.project, model_id)
    files = artifacts.list_folder(
        call.deps, call.actor, call.project, model.run_id, path=model.folder, limit=1, cursor=None
    )
    if files.items:
        return FromLoggedModel(model_id)
    return FromElsewhere(f"{artifact_uri(call.project.name, model.run_id)}/{model.folder}")


def _of_artifacts(call: Call, written: str, path: str) -> ModelSource:
    try:
        place = located(call, path)
    except NotFound:  # nothing of ours
        return FromElsewhere(written)
    if isinstance(place, RunPlace):
        folder, _, model_id = place.path.partition("/")
        if folder == LOGGED_MODELS and model_id and "/" not in model_id:
            return _of_logged_model(call, model_id)
        return FromRun(place.run_id, place.path)
    found = version_files.find(call.deps, call.project, place.model_id, place.number)
    if place.path:
        raise _invalid(written, "A version is copied as a whole")
    return FromVersion(found.model, str(place.number))


def _invalid(written: str, reason: str) -> Invalid:
    return Invalid(f"Invalid model version source: '{written[:200]}'. {reason}.", fields=["source"])
