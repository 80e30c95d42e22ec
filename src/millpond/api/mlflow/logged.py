"""What MLflow's clients log: metrics, parameters, tags, inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, invalid, missing, one_text, pair, real, whole
from millpond.api.mlflow.logged_models import note_metrics
from millpond.api.mlflow.runs import active_run, run_id_of, set_tags
from millpond.api.mlflow.shapes import MODEL_INPUT, NAME_TAG, NOTE_TAG
from millpond.errors import Invalid
from millpond.model.people import Role
from millpond.model.run import RunReport
from millpond.model.series import Points
from millpond.services.runs import reports


def log_metric(call: Call) -> dict[str, Any]:
    report(call, RunReport(points=metric_points([call.fields])))
    note_metrics(call, [call.fields])
    return {}


def log_param(call: Call) -> dict[str, Any]:
    run_id_of(call)
    key, value = call.text("key"), call.optional("value") or ""
    report(call, RunReport(params={key: value}, fixed_params=True))
    return {}


def log_batch(call: Call) -> dict[str, Any]:
    """All or nothing. A parameter that has another value already is refused."""
    params: dict[str, Any] = {}
    for item in call.many("params"):
        key, value = pair(item, "params")
        if params.get(key, value) != value:
            raise Invalid(f"Duplicate parameter keys have been submitted: ['{key}'].", fields=["params"])
        params[key] = value
    tags = call.pairs("tags")
    special = {key: tags.pop(key) for key in (NAME_TAG, NOTE_TAG) if key in tags}
    points = metric_points(call.many("metrics"), "metrics")
    found = RunReport(params=params, fixed_params=True, tags=tags, points=points)
    report(call, found)
    note_metrics(call, call.many("metrics"))
    set_tags(call, run_id_of(call), special)
    return {}


def log_inputs(call: Call) -> dict[str, Any]:
    """Datasets and logged models that a run has read."""
    inputs = []
    for item in call.many("datasets"):
        dataset = item.get("dataset") if isinstance(item, dict) else None
        if not isinstance(dataset, dict) or not dataset.get("name"):
            raise invalid(item, "datasets", "a dataset has no name")
        tags = dict(pair(tag, "tags") for tag in item.get("tags") or [])
        inputs.append({**{key: one_text(value) for key, value in dataset.items()}, "tags": tags})
    for item in call.many("models"):
        if not isinstance(item, dict) or not isinstance(item.get("model_id"), str):
            raise invalid(item, "models", "a model has no id")
        inputs.append({"name": f"models:/{item['model_id']}", MODEL_INPUT: item["model_id"]})
    report(call, RunReport(inputs=tuple(inputs)))
    return {}


def report(call: Call, found: RunReport) -> None:
    reports.take_report(call.deps, call.actor, call.project, active_run(call), found)


def metric_points(metrics: Sequence[Any], field: str = "") -> dict[str, Points]:
    """By key, in the order they came. `field` is the one that holds them."""
    found: dict[str, Points] = {}
    for place, item in enumerate(metrics):
        try:
            key, value, at, step = item["key"], item["value"], item["timestamp"], item.get("step") or 0
        except (KeyError, TypeError, AttributeError) as error:
            raise _lacking(item, place, field) from error
        if not key or not isinstance(key, str) or value is None or at is None:
            raise _lacking(item, place, field)
        one = found.get(key)
        if one is None:
            one = found[key] = Points()
        one.steps.append(whole(step, "step"))
        one.values.append(real(value, "value"))
        one.times.append(whole(at, "timestamp"))
    return found


def _lacking(item: Any, place: int, field: str) -> Invalid:
    """Why an item is no metric."""
    if not isinstance(item, dict):
        return invalid(item, field, "expected metrics with key, value and timestamp")
    where = f"{field}[{place}]." if field else ""
    for name in ("key", "value", "timestamp"):
        if item.get(name) in (None, ""):
            return missing(f"{where}{name}")
    return invalid(item["key"], f"{where}key", "expected a text")


ENDPOINTS = (
    Endpoint("POST", "runs/log-metric", Role.MEMBER, log_metric),
    Endpoint("POST", "runs/log-parameter", Role.MEMBER, log_param),
    Endpoint("POST", "runs/log-batch", Role.MEMBER, log_batch),
    Endpoint("POST", "runs/log-inputs", Role.MEMBER, log_inputs),
)
