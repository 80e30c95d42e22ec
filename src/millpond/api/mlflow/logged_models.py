"""Logged models of MLflow 3: made by `log_model` and autologging, with their files among their run's artifacts."""

from __future__ import annotations

from typing import Any

from millpond.api.mlflow import filters
from millpond.api.mlflow.endpoint import Call, Endpoint, one_text, real, whole
from millpond.api.mlflow.shapes import artifact_uri, experiment_id, milliseconds, pairs
from millpond.decide.filter_words import Words
from millpond.errors import Invalid, NotFound
from millpond.model.logged_model import LoggedModel
from millpond.model.people import Role
from millpond.model.run import RunReport
from millpond.model.run_query import Field, FieldKind
from millpond.services.runs import artifacts, experiments, logged_models, reports, runs

_MOST = 1000
_DEFAULT = 100
_ORDER, _TIES = "creation_timestamp desc", "model_id"
_WORDS = Words(
    kinds=(FieldKind.METRIC, FieldKind.PARAM, FieldKind.TAG),
    attributes={
        name: name
        for name in (
            "name", "model_id", "model_type", "status", "source_run_id", "creation_timestamp",
            "last_updated_timestamp",
        )
    } | {"creation_time": "creation_timestamp", "last_updated_time": "last_updated_timestamp"},
    times=("creation_timestamp", "last_updated_timestamp"),
)  # fmt: skip
_HISTORY_TAG = "mlflow.log-model.history"


def create(call: Call) -> dict[str, Any]:
    number = whole(call.optional("experiment_id") or "0", "experiment_id")
    made = logged_models.create(
        call.deps, call.actor, call.project, experiments.get(call.deps, call.project, number),
        name=call.optional("name"), type=call.optional("model_type") or "",
        run_id=call.optional("source_run_id") or None, params=call.pairs("params"), tags=call.pairs("tags"),
    )  # fmt: skip
    return _answer(call, made)


def get(call: Call) -> dict[str, Any]:
    return _answer(call, _found(call))


def finalize(call: Call) -> dict[str, Any]:
    return _change(call, status=call.text("status"))


def set_tags(call: Call) -> dict[str, Any]:
    return _change(call, tags=call.pairs("tags"))


def delete_tag(call: Call) -> dict[str, Any]:
    key, model = call.text("tag_key"), _found(call)
    if key not in model.tags:
        raise NotFound(f"No tag with key '{key}' for model with ID '{model.id}'.")
    _change(call, tags={key: None})
    return {}


def log_params(call: Call) -> dict[str, Any]:
    _change(call, params=call.pairs("params"))
    return {}


def delete(call: Call) -> dict[str, Any]:
    _change(call, delete=True)
    return {}


def search(call: Call) -> dict[str, Any]:
    """Newest first, unless ordered otherwise."""
    wanted = {one_text(item) for item in call.many("experiment_ids")}
    known = experiments.list_experiments(call.deps, call.project)
    names = {one.name: experiment_id(one) for one in known if experiment_id(one) in wanted}
    datasets = call.many("datasets")
    known_models = logged_models.list_models(call.deps, call.actor, call.project, list(names))
    models = [model for model in known_models if _is_of(model, datasets)]
    found, token = filters.search(call, models, _WORDS, _value, order=_ORDER, ties=_TIES, most=_MOST, default=_DEFAULT)
    answer: dict[str, Any] = {"models": [_model(call, one, names[one.experiment]) for one in found]}
    return answer | ({"next_page_token": token} if token else {})


def list_artifacts(call: Call) -> dict[str, Any]:
    model = _found(call)
    folder = "/".join(part for part in ((call.optional("artifact_directory_path") or "").strip("/"),) if part)
    inside = f"{model.folder}/{folder}" if folder else model.folder
    found = artifacts.list_folder(
        call.deps, call.actor, call.project, model.run_id, path=inside, limit=1000,
        cursor=call.optional("page_token") or None,
    )  # fmt: skip
    files = [
        {"path": f"{folder}/{one.name}" if folder else one.name, "is_dir": one.is_folder, "file_size": one.size}
        for one in found.items
    ]
    answer: dict[str, Any] = {"root_uri": _uri(call, model), "files": files}
    return answer | ({"next_page_token": found.next} if found.next else {})


def log_outputs(call: Call) -> dict[str, Any]:
    """Which models a run has made."""
    outputs = []
    for item in call.many("models"):
        if not isinstance(item, dict) or not item.get("model_id"):
            raise Invalid("Invalid value for parameter 'models': a model has no id.", fields=["models"])
        outputs.append({"model_id": str(item["model_id"]), "step": whole(item.get("step") or 0, "step")})
    report = RunReport(outputs=tuple(outputs))
    reports.take_report(call.deps, call.actor, call.project, call.text("run_id"), report)
    return {}


def log_model(call: Call) -> dict[str, Any]:
    """What older clients record of a model: a tag of the run."""
    tags = runs.get(call.deps, call.actor, call.project, call.text("run_id")).view.tags
    known = tags.get(_HISTORY_TAG, "[]").rstrip("]")
    told = RunReport(tags={_HISTORY_TAG: f"{known}{',' if len(known) > 1 else ''}{call.text('model_json')}]"})
    reports.take_report(call.deps, call.actor, call.project, call.text("run_id"), told)
    return {}


def note_metrics(call: Call, metrics: list[Any]) -> None:
    """Metrics that name a model are its own, too."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for item in metrics:
        if isinstance(item, dict) and item.get("model_id"):
            kept = ("key", "value", "timestamp", "step", "dataset_name", "dataset_digest", "run_id", "model_id")
            by_model.setdefault(str(item["model_id"]), []).append({name: item[name] for name in kept if name in item})
    for model_id, found in by_model.items():
        logged_models.change(call.deps, call.actor, call.project, model_id, metrics=found)


def _found(call: Call) -> LoggedModel:
    return logged_models.get(call.deps, call.actor, call.project, call.text("model_id"))


def _is_of(model: LoggedModel, datasets: list[Any]) -> bool:
    """True if the model has a metric of one of these datasets, or none is asked for."""
    wanted = [(one.get("dataset_name"), one.get("dataset_digest")) for one in datasets if isinstance(one, dict)]
    named = {(one.get("dataset_name"), one.get("dataset_digest")) for one in model.metrics}
    return not wanted or any(
        name == known and digest in (None, "", known_digest) for name, digest in wanted for known, known_digest in named
    )


def _change(call: Call, **changes: Any) -> dict[str, Any]:
    changed = logged_models.change(call.deps, call.actor, call.project, call.text("model_id"), **changes)
    return _answer(call, changed)


def _answer(call: Call, model: LoggedModel) -> dict[str, Any]:
    number = experiment_id(experiments.find(call.deps, call.project, model.experiment))
    return {"model": _model(call, model, number)}


def _model(call: Call, model: LoggedModel, number: str) -> dict[str, Any]:
    return {
        "info": {
            "model_id": model.id,
            "experiment_id": number,
            "name": model.name,
            "creation_timestamp_ms": milliseconds(model.created_at),
            "last_updated_timestamp_ms": milliseconds(model.changed_at),
            "artifact_uri": _uri(call, model),
            "status": model.status,
            "model_type": model.type,
            "source_run_id": model.run_id,
            "tags": pairs(model.tags),
        },
        "data": {"params": pairs(model.params), "metrics": list(model.metrics)},
    }


def _uri(call: Call, model: LoggedModel) -> str:
    return f"{artifact_uri(call.project.name, model.run_id)}/{model.folder}"


def _value(model: LoggedModel, field: Field) -> Any:
    match field.kind:
        case FieldKind.TAG:
            return model.tags.get(field.key)
        case FieldKind.PARAM:
            return model.params.get(field.key)
        case FieldKind.METRIC:
            return next((real(one["value"], "value") for one in model.metrics if one["key"] == field.key), None)
    match field.key:
        case "creation_timestamp":
            return milliseconds(model.created_at)
        case "last_updated_timestamp":
            return milliseconds(model.changed_at)
        case "model_id":
            return model.id
        case "model_type":
            return model.type
        case "source_run_id":
            return model.run_id
        case "status":
            return model.status.removeprefix("LOGGED_MODEL_")
    return model.name


ENDPOINTS = (
    Endpoint("POST", "logged-models", Role.MEMBER, create),
    Endpoint("POST", "logged-models/search", Role.VIEWER, search),
    Endpoint("GET", "logged-models/{model_id}", Role.VIEWER, get),
    Endpoint("PATCH", "logged-models/{model_id}", Role.MEMBER, finalize),
    Endpoint("DELETE", "logged-models/{model_id}", Role.MEMBER, delete),
    Endpoint("PATCH", "logged-models/{model_id}/tags", Role.MEMBER, set_tags),
    Endpoint("DELETE", "logged-models/{model_id}/tags/{tag_key}", Role.MEMBER, delete_tag),
    Endpoint("POST", "logged-models/{model_id}/params", Role.MEMBER, log_params),
    Endpoint("GET", "logged-models/{model_id}/artifacts/directories", Role.VIEWER, list_artifacts),
    Endpoint("POST", "runs/outputs", Role.MEMBER, log_outputs),
    Endpoint("POST", "runs/log-model", Role.MEMBER, log_model),
)
