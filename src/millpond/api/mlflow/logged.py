"""What MLflow's clients log: metrics, parameters, tags, inputs; and the history of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, one_text, pair, real, whole
from millpond.api.mlflow.logged_models import note_metrics
from millpond.api.mlflow.runs import active_run, run_id_of, set_tags
from millpond.api.mlflow.shapes import NAME_TAG, NOTE_TAG, milliseconds, points
from millpond.errors import Invalid, NotFound
from millpond.model.people import Role
from millpond.model.run import RunReport
from millpond.model.series import Points
from millpond.services.runs import reports, series

MOST_METRICS = 1000
# Of a history that is asked for without a number.
MOST_POINTS = 25_000


def log_metric(call: Call) -> dict[str, Any]:
    report(call, RunReport(points=metric_points([call.fields], call.deps.clock.now())))
    note_metrics(call, [call.fields])
    return {}


def log_param(call: Call) -> dict[str, Any]:
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
    points = metric_points(call.many("metrics"), call.deps.clock.now())
    found = RunReport(params=params, fixed_params=True, tags=tags, points=points)
    report(call, found)
    note_metrics(call, call.many("metrics"))
    set_tags(call, run_id_of(call), special)
    return {}


def log_inputs(call: Call) -> dict[str, Any]:
    inputs = []
    for item in call.many("datasets"):
        dataset = item.get("dataset") if isinstance(item, dict) else None
        if not isinstance(dataset, dict) or not dataset.get("name"):
            raise Invalid("Invalid value for parameter 'datasets': a dataset has no name.", fields=["datasets"])
        tags = dict(pair(tag, "tags") for tag in item.get("tags") or [])
        inputs.append({**{key: one_text(value) for key, value in dataset.items()}, "tags": tags})
    report(call, RunReport(inputs=tuple(inputs)))
    return {}


def get_history(call: Call) -> dict[str, Any]:
    """Every point of one metric, a page at a time; nothing for a metric that the run does not have."""
    most = min(max(call.number("max_results", MOST_POINTS) or MOST_POINTS, 1), MOST_POINTS)
    try:
        found = series.metric_history(
            call.deps, call.actor, call.project, run_id_of(call), call.text("metric_key"), limit=most,
            cursor=call.optional("page_token") or None,
        )  # fmt: skip
    except NotFound as error:
        if error.details.get("noun") == "metric":
            return {"metrics": []}
        raise
    answer: dict[str, Any] = {"metrics": [point for one in found.items for point in points(one)]}
    return answer | ({"next_page_token": found.next} if found.next else {})


def get_history_bulk(call: Call) -> dict[str, Any]:
    """One metric of several runs, thinned where it is longer than asked for."""
    run_ids = list(dict.fromkeys(one_text(item) for item in call.many("run_id") + call.many("run_ids")))
    if not 1 <= len(run_ids) <= 100:
        raise Invalid("Give 1 to 100 run ids.", fields=["run_ids"])
    found = series.metric_series(
        call.deps, call.actor, call.project, run_ids, keys=[call.text("metric_key")],
        limit=min(call.number("max_results", MOST_POINTS) or MOST_POINTS, MOST_POINTS),
        start=call.number("start_step"), end=call.number("end_step"),
    )  # fmt: skip
    return {"metrics": [point for one in found for point in points(one)]}


def report(call: Call, found: RunReport) -> None:
    reports.take_report(call.deps, call.actor, call.project, active_run(call), found)


def metric_points(metrics: Sequence[Any], now: datetime) -> dict[str, Points]:
    """By key, in the order they came."""
    found: dict[str, Points] = {}
    for item in metrics:
        if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not item["key"]:
            raise Invalid("Missing value for required parameter 'key'.", fields=["metrics"])
        if item.get("value") is None:
            raise Invalid(
                f"Missing value for required parameter 'value' of metric {item['key']!r}.", fields=["metrics"]
            )
        one = found.setdefault(item["key"], Points())
        at = item.get("timestamp")
        one.steps.append(whole(item.get("step") or 0, "step"))
        one.values.append(real(item["value"], "value"))
        one.times.append(milliseconds(now) if at is None else whole(at, "timestamp"))
    return found


ENDPOINTS = (
    Endpoint("POST", "runs/log-metric", Role.MEMBER, log_metric),
    Endpoint("POST", "runs/log-parameter", Role.MEMBER, log_param),
    Endpoint("POST", "runs/log-batch", Role.MEMBER, log_batch),
    Endpoint("POST", "runs/log-inputs", Role.MEMBER, log_inputs),
    Endpoint("GET", "metrics/get-history", Role.VIEWER, get_history),
    Endpoint("GET", "metrics/get-history-bulk", Role.VIEWER, get_history_bulk),
    Endpoint("GET", "metrics/get-history-bulk-interval", Role.VIEWER, get_history_bulk),
)
