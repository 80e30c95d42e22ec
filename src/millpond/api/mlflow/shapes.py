"""Our nouns in MLflow's words. NaN and the infinities are words, as in protobuf's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from millpond.db.run_values import param_text
from millpond.model.experiment import Experiment
from millpond.model.model import ModelVersionView
from millpond.model.people import Project
from millpond.model.run import DEFAULT_EXPERIMENT, RunRecord, RunState, RunView
from millpond.model.series import Series
from millpond.wire.runs import written_number

STATES: Mapping[RunState, str] = {
    RunState.RUNNING: "RUNNING",
    RunState.SUCCEEDED: "FINISHED",
    RunState.FAILED: "FAILED",
    RunState.CANCELLED: "KILLED",
    RunState.LOST: "KILLED",
}
DEFAULT_NAME = "Default"
NAME_TAG = "mlflow.runName"
PARENT_TAG = "mlflow.parentRunId"
NOTE_TAG = "mlflow.note.content"
USER_TAG = "mlflow.user"
# The field of an input that is a logged model.
MODEL_INPUT = "model_id"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    """Whole ones: never later than the moment itself."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment(milliseconds: int | None) -> datetime | None:
    """None for none, and for what no calendar has."""
    try:
        return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def experiment_id(value: Experiment) -> str:
    return "0" if value.name == DEFAULT_EXPERIMENT else str(value.number)


def experiment(value: Experiment, project: Project) -> dict[str, Any]:
    number = experiment_id(value)
    return {
        "experiment_id": number,
        "name": DEFAULT_NAME if number == "0" else value.name,
        "artifact_location": f"mlflow-artifacts:/{project.name}/experiments/{number}",
        "lifecycle_stage": "deleted" if value.deleted_at else "active",
        "creation_time": milliseconds(value.created_at),
        "last_update_time": milliseconds(value.changed_at),
        "tags": pairs(value.tags),
    }


def run(view: RunView, number: str, record: RunRecord | None = None) -> dict[str, Any]:
    """`number` is the id of its experiment; the record holds its note and inputs."""
    return {
        "info": info(view, number),
        "data": {
            "metrics": [
                {"key": key, "value": written_number(one.last), "timestamp": one.last_at, "step": one.last_step}
                for key, one in view.metrics.items()
            ],
            "params": [{"key": key, "value": param_text(value)} for key, value in view.params.items()],
            "tags": pairs(_tags(view, record)),
        },
        "inputs": _inputs(record),
        "outputs": {"model_outputs": [dict(one) for one in record.outputs] if record else []},
    }


def info(view: RunView, number: str) -> dict[str, Any]:
    value = view.run
    found: dict[str, Any] = {
        "run_id": value.id,
        "run_uuid": value.id,
        "run_name": value.name,
        "experiment_id": number,
        "user_id": view.tags.get(USER_TAG, value.created_by),
        "status": STATES[value.state],
        "start_time": milliseconds(value.started_at),
        "artifact_uri": artifact_uri(value.project, value.id),
        "lifecycle_stage": "deleted" if value.deleted_at else "active",
    }
    return found | {"end_time": milliseconds(value.ended_at)} if value.ended_at else found


def artifact_uri(project: str, run_id: str) -> str:
    """It carries the project: the client drops the path of its tracking URI from a bare `mlflow-artifacts:/`."""
    return f"mlflow-artifacts:/{project}/{run_id}/artifacts"


def version_uri(view: ModelVersionView) -> str:
    """Of the files of a version, by the model's id: a name could hold `#` or `?`."""
    return f"mlflow-artifacts:/{view.project}/models/{view.version.dataset_id}/{view.version.number}"


def points(series: Series) -> list[dict[str, Any]]:
    found = zip(series.points.steps, series.points.values, series.points.times, strict=True)
    return [
        {"key": series.key, "value": written_number(value), "timestamp": at, "step": step, "run_id": series.run_id}
        for step, value, at in found
    ]


def pairs(values: Mapping[str, str]) -> Sequence[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _tags(view: RunView, record: RunRecord | None) -> dict[str, str]:
    """Tags that MLflow's clients read what we keep elsewhere from."""
    found = {NAME_TAG: view.run.name, USER_TAG: view.run.created_by, **view.tags}
    found[NAME_TAG] = view.run.name
    if view.run.parent_id:
        found[PARENT_TAG] = view.run.parent_id
    if record is not None and record.notes:
        found[NOTE_TAG] = record.notes
    return found


def _inputs(record: RunRecord | None) -> dict[str, Any]:
    found = record.inputs if record else ()
    return {
        "dataset_inputs": [_input(one) for one in found if MODEL_INPUT not in one],
        "model_inputs": [{"model_id": one[MODEL_INPUT]} for one in found if MODEL_INPUT in one],
    }


def _input(value: Mapping[str, Any]) -> dict[str, Any]:
    tags = value.get("tags") or {}
    return {"tags": pairs(tags), "dataset": {key: one for key, one in value.items() if key != "tags"}}
