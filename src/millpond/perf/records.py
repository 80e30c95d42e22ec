"""Measurements as runs: one for each cell of the matrix, in the experiment `mlperf`, parts of one run for the whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.http import Api, segment
from millpond.client.run import Run
from millpond.client.tracking import init
from millpond.model.mlperf import MLPERF_EXPERIMENT
from millpond.wire.mlperf import MlperfTables

_PARAMS = ("task", "model", "scenario", "servers", "storage", "protocol", "unit", "official", "samples")
_METRICS = (
    "value", "p50_ms", "p90_ms", "p99_ms", "ready_seconds", "server_cpu_seconds", "client_cpu_seconds", "load_seconds",
    "seconds", "quality",
)  # fmt: skip


def begin(project: str, model: str, task: str) -> Run:
    """The run that the measurements belong to."""
    return init(project, name=f"mlperf-{task}", experiment=MLPERF_EXPERIMENT, params={"model": model, "task": task})


def save(parent: Run, project: str, measured: Mapping[str, Any], folder: Path | None) -> None:
    """Keep a cell as a run of its own, with the files that LoadGen wrote."""
    name = (
        f"{measured['task']}-{measured['scenario']}-{measured['servers']}-{measured['storage']}-{measured['protocol']}"
    )
    run = init(project, name=name, experiment=MLPERF_EXPERIMENT, parent=parent)
    run.log_params({key: measured[key] for key in _PARAMS if measured.get(key) is not None})
    run.log_metrics({key: float(measured[key]) for key in _METRICS if measured.get(key) is not None})
    run.set_tags({"mlperf.valid": str(measured["valid"]).lower(), "mlperf.reason": measured["reason"]})
    if folder is not None and folder.is_dir():
        run.log_artifacts(folder, "loadgen")
    run.finish()


def load_tables(api: Api, project: str) -> MlperfTables:
    """The newest results, as the tables of TR-4886."""
    return api.get(f"/projects/{segment(project)}/mlperf", MlperfTables)
