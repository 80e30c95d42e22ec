"""`log-metric` and `log-batch` of nothing but metrics, read for the short way (api/quick_points.py)."""

from __future__ import annotations

from millpond.api.mlflow.endpoint import Document
from millpond.api.mlflow.logged import metric_points
from millpond.api.mlflow.reading import read_body, secret_of
from millpond.decide.point_batch import batch_of
from millpond.services.people.tokens import hash_secret
from millpond.services.runs.point_intake import LoggedPoints
from millpond.services.runs.run_checks import check_key


def read_metric(project: str, authorization: str, body: bytes) -> LoggedPoints | None:
    """None, or a MillError, for what the endpoint itself must answer."""
    fields = read_body(body)
    return _logged(project, authorization, fields, [fields])


def read_batch(project: str, authorization: str, body: bytes) -> LoggedPoints | None:
    fields = read_body(body)
    metrics = fields.get("metrics")
    if fields.get("params") or fields.get("tags") or not isinstance(metrics, list) or not metrics:
        return None
    return _logged(project, authorization, fields, metrics)


def _logged(project: str, authorization: str, fields: Document, metrics: list[Document]) -> LoggedPoints | None:
    secret, run_id = secret_of(authorization), fields.get("run_id") or fields.get("run_uuid")
    if secret is None or not isinstance(run_id, str):
        return None
    # Metrics of a logged model are kept with the model, too.
    if any(isinstance(one, dict) and one.get("model_id") for one in metrics):
        return None
    points = metric_points(metrics)
    for key in points:
        check_key(key, "metrics")
    return LoggedPoints(hash_secret(secret), project, run_id, batch_of(points))
