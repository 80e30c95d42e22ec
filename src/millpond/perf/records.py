"""Measurements as runs: one for each cell of the matrix, in the experiment `mlperf`, parts of one run for the whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.http import Api
from millpond.client.run import Run
from millpond.client.runs import list_runs
from millpond.client.tracking import init

EXPERIMENT = "mlperf"
_PARAMS = ("task", "model", "scenario", "servers", "storage", "protocol", "unit", "official", "samples")
_METRICS = (
    "value", "p50_ms", "p90_ms", "p99_ms", "ready_seconds", "server_cpu_seconds", "client_cpu_seconds", "load_seconds",
    "seconds", "quality",
)  # fmt: skip


def begin(project: str, model: str, task: str) -> Run:
    """The run that the measurements belong to."""
    return init(project, name=f"mlperf-{task}", experiment=EXPERIMENT, params={"model": model, "task": task})


def save(parent: Run, project: str, measured: Mapping[str, Any], folder: Path | None) -> None:
    """Keep a cell as a run of its own, with the files that LoadGen wrote."""
    name = (
        f"{measured['task']}-{measured['scenario']}-{measured['servers']}-{measured['storage']}-{measured['protocol']}"
    )
    run = init(project, name=name, experiment=EXPERIMENT, parent=parent)
    run.log_params({key: measured[key] for key in _PARAMS if measured.get(key) is not None})
    run.log_metrics({key: float(measured[key]) for key in _METRICS if measured.get(key) is not None})
    run.set_tags({"mlperf.valid": str(measured["valid"]).lower(), "mlperf.reason": measured["reason"]})
    if folder is not None and folder.is_dir():
        run.log_artifacts(folder, "loadgen")
    run.finish()


def load(api: Api, project: str) -> list[dict[str, Any]]:
    """Cells that were kept, the oldest first."""
    runs = list_runs(api, project=project, experiment=EXPERIMENT)
    found = [_cell(run.params, run.metrics, run.tags) for run in runs if "scenario" in run.params]
    return found[::-1]


def _cell(params: Mapping[str, Any], metrics: Mapping[str, float], tags: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{key: params.get(key) for key in _PARAMS},
        **{key: metrics.get(key) for key in _METRICS},
        "valid": tags.get("mlperf.valid") == "true",
        "reason": tags.get("mlperf.reason", ""),
    }
