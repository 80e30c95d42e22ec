"""What MLflow's clients name as the source of a version: URIs of runs, logged models, versions, or files elsewhere."""

from __future__ import annotations

import re
from urllib.parse import unquote

from millpond.api.mlflow.artifact_places import RunPlace, located
from millpond.api.mlflow.endpoint import Call
from millpond.errors import Invalid
from millpond.model.logged_model import LOGGED_MODELS
from millpond.model.model import FromElsewhere, FromLoggedModel, FromRun, FromVersion, ModelSource, split_written
from millpond.services.models import version_files
from millpond.services.models.sources import knows_run

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_HOST = re.compile(r"^//[^/]+")


def source_of(call: Call, written: str) -> ModelSource:
    """Where the files of a version come from. Invalid for a path of the client's machine, and for one with `..`."""
    scheme, colon, rest = written.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme) or scheme.lower() == "file":
        raise _invalid(written, "a local path cannot be read by others; log the model to a run first")
    if ".." in unquote(unquote(written)).replace("\\", "/").split("/"):
        raise _invalid(written, "'..' is not allowed")
    # By hand: in names of models, `#` and `?` are letters like others.
    path = _HOST.sub("", rest).strip("/")
    match scheme:
        case "models":
            return _of_model(written, path)
        case "runs":
            run_id, _, inner = path.partition("/")
            known = knows_run(call.deps, call.project, run_id)
            return FromRun(run_id, inner) if known else FromElsewhere(written)
        case "mlflow-artifacts":
            return _of_artifacts(call, path)
    return FromElsewhere(written)


def _of_model(written: str, path: str) -> ModelSource:
    """`models:/m-…`, `models:/NAME/3` or `models:/NAME@champion`."""
    name, slash, version = path.rpartition("/")
    if slash:
        return FromVersion(name, version)
    if "@" in path:
        return FromVersion(*split_written(path))
    if path.startswith("m-"):
        return FromLoggedModel(path)
    raise _invalid(written, "expected models:/ID, models:/NAME/VERSION or models:/NAME@ALIAS")


def _of_artifacts(call: Call, path: str) -> ModelSource:
    place = located(call, path)
    if isinstance(place, RunPlace):
        folder, _, model_id = place.path.partition("/")
        is_logged_model = folder == LOGGED_MODELS and model_id and "/" not in model_id
        return FromLoggedModel(model_id) if is_logged_model else FromRun(place.run_id, place.path)
    found = version_files.find(call.deps, call.project, place.model_id, place.number)
    if place.path:
        raise _invalid(path, "a version is copied as a whole")
    return FromVersion(found.model, str(place.number))


def _invalid(written: str, reason: str) -> Invalid:
    return Invalid(f"Invalid model version source: '{written[:200]}': {reason}.", fields=["source"])
