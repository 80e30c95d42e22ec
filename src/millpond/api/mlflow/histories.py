"""The history of metrics: a page at a time, of several runs at once, and thinned for charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millpond.api.mlflow.endpoint import Call, Endpoint, missing, one_text
from millpond.api.mlflow.runs import run_id_of
from millpond.api.mlflow.shapes import points
from millpond.errors import Invalid, NotFound
from millpond.model.people import Role
from millpond.model.series import Points, Series
from millpond.services.runs import series

MOST_POINTS = 25_000
_MOST_THINNED = 2500
_THINNED = 320
_MOST_RUNS = 100


def get_history(call: Call) -> dict[str, Any]:
    """Every point of one metric, a page at a time; nothing for a metric that the run does not have."""
    limit = min(call.limit(MOST_POINTS, 1 << 31), MOST_POINTS)
    found, token = _history(call, run_id_of(call), limit, call.optional("page_token") or None)
    return {"metrics": points(found), **({"next_page_token": token} if token else {})}


def get_history_bulk(call: Call) -> dict[str, Any]:
    """One metric of several runs, by their ids, of each its first points."""
    run_ids, limit = sorted(_run_ids(call, "run_id", "GetMetricHistoryBulk")), call.limit(MOST_POINTS, MOST_POINTS)
    if not call.optional("metric_key"):
        raise Invalid("GetMetricHistoryBulk request must specify a metric_key.", fields=["metric_key"])
    return {"metrics": [point for run_id in run_ids for point in points(_history(call, run_id, limit)[0])]}


def get_history_bulk_interval(call: Call) -> dict[str, Any]:
    """One metric of several runs, of each so many points spread over all of it, with the first and the last."""
    run_ids = _run_ids(call, "run_ids", "GetMetricHistoryBulkInterval")
    limit = call.number("max_results", _THINNED)
    if limit is None or not 1 <= limit <= _MOST_THINNED:
        raise Invalid(f"max_results must be between 1 and {_MOST_THINNED}.", fields=["max_results"])
    key, start, end = call.text("metric_key"), call.number("start_step"), call.number("end_step")
    if (start is None) != (end is None):
        raise Invalid("If either start step or end step are specified, both must be specified.")
    if start is not None and end is not None and start > end:
        raise Invalid(f"end_step must be greater than start_step. Found start_step={start} and end_step={end}.")
    found = series.metric_series(
        call.deps, call.actor, call.project, run_ids, keys=[key], limit=MOST_POINTS, start=start, end=end
    )
    return {"metrics": [point for one in found for point in points(_spread(one, limit))]}


def _history(call: Call, run_id: str, limit: int, cursor: str | None = None) -> tuple[Series, str | None]:
    key = call.text("metric_key")
    try:
        found = series.metric_history(call.deps, call.actor, call.project, run_id, key, limit=limit, cursor=cursor)
    except NotFound as error:
        if error.details.get("noun") == "metric":
            return Series(run_id, key, Points(), 0), None
        raise
    return found.items[0], found.next


def _run_ids(call: Call, name: str, request: str) -> list[str]:
    """`name` is how the request names them; clients write both."""
    found = list(dict.fromkeys(one_text(item) for item in call.many("run_id") + call.many("run_ids")))
    if not found and name == "run_ids":
        raise missing("run_ids")
    if not found:
        raise Invalid(f"{request} request must specify at least one run_id.", fields=[name])
    if len(found) > _MOST_RUNS:
        limit = f"specify at most {_MOST_RUNS} run_ids" if name == "run_ids" else ""
        many = f"must {limit}" if limit else f"cannot specify more than {_MOST_RUNS} run_ids"
        raise Invalid(f"{request} request {many}. Received {len(found)} run_ids.", fields=[name])
    return found


def _spread(one: Series, limit: int) -> Series:
    """In the order of steps, then of times."""
    values = one.points
    order = sorted(range(len(values.steps)), key=lambda place: (values.steps[place], values.times[place]))
    if len(order) > limit:
        order = [*(order[place * len(order) // limit] for place in range(limit - 1)), order[-1]]
    return replace(one, points=values.take(order))


ENDPOINTS = (
    Endpoint("GET", "metrics/get-history", Role.VIEWER, get_history),
    Endpoint("GET", "metrics/get-history-bulk", Role.VIEWER, get_history_bulk),
    Endpoint("GET", "metrics/get-history-bulk-interval", Role.VIEWER, get_history_bulk_interval),
)
