"""Batch inference: a version over a dataset, as a flow that is made for it.

A flow has what is needed: shards are steps that run where there is room, those that are done are remembered, what is
cut off goes on from its checkpoint, and the server publishes predictions once, when all of them are there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

from millpond.decide.model_backend import backend_of
from millpond.errors import BadRequest
from millpond.model.flow_run import FlowRun, RunOptions
from millpond.model.model import ModelVersionView
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.flows import saving, starting
from millpond.services.flows.bundle import FILE, Bundle
from millpond.services.flows.starting import StartRun
from millpond.services.models import version_files, versions
from millpond.services.serving.program import program_files, requirements

MOST_SHARDS = 1000
_CODE = "code"
_TABLES = ("pyarrow", "pillow")


@dataclass(frozen=True, slots=True)
class BatchPrediction:
    """What is asked for. `input` and `output` are written `dataset[@ref]`; `on` is a template or queue."""

    input: str
    output: str
    shards: int = 1
    columns: tuple[str, ...] = ()
    max_errors: int = 0
    on: str | None = None
    # False: the machine's own Python has all that is needed.
    builds_environment: bool = True


def start(
    deps: Deps, actor: Actor, project: Project, model: str, version: str, asked: BatchPrediction
) -> FlowRun:  # fmt: skip
    """Start it. Invalid for a version that cannot be run; BadRequest for anything wrong in what is asked."""
    target = DatasetRef.parse(asked.output)
    if target.project not in (None, project.name):
        raise BadRequest(
            f"Predictions of a model of project {project.name} cannot be written to {asked.output}.",
            hint=f"Content stays in its project: choose a dataset of {project.name}.",
        )
    view = versions.get(deps, project, model, version)
    backend = backend_of(view.written, version_files.paths(deps, project, view))
    name = flow_name(view.model, asked.output)
    bundle = Bundle({FILE: _text(name, view, asked), **_files(backend, asked)})
    saving.save(deps, actor, project, name, bundle)
    return starting.start(deps, actor, project, name, StartRun(options=RunOptions(on=asked.on)))


def flow_name(model: str, output: str) -> str:
    """The flow of a model and the dataset that its predictions go to."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{model}-{DatasetRef.parse(output).dataset}".lower()).strip("-")
    return f"batch-{words}"[:63].rstrip("-")


def _text(name: str, view: ModelVersionView, asked: BatchPrediction) -> bytes:
    if not 1 <= asked.shards <= MOST_SHARDS:
        raise BadRequest(f"--shards must be from 1 to {MOST_SHARDS}.")
    target = DatasetRef.parse(asked.output)
    predict: dict[str, Any] = {
        "command": ["python", "-m", "millpond_serve.batch"],
        "code": f"./{_CODE}",
        "inputs": {"model": "${steps.model}", "data": "${steps.data}"},
        "params": {
            "shard": "${each.shard}", "shards": asked.shards, "columns": list(asked.columns),
            "max_errors": asked.max_errors,
        },
        "each": {"shard": list(range(asked.shards))},
        "outputs": {"predictions": {"type": "directory"}, "samples": {"type": "int"}},
        "retries": 2,
    }  # fmt: skip
    merge: dict[str, Any] = {
        "command": ["python", "-m", "millpond_serve.batch.merge"],
        "code": f"./{_CODE}",
        "inputs": {"parts": "${steps.predict[*].outputs.predictions}"},
        "outputs": {"predictions": {"type": "directory"}, "parts": {"type": "int"}},
    }
    if asked.builds_environment:
        predict["environment"] = "requirements.txt"
    document = {
        "schema": "millpond.flow/1",
        "name": name,
        "description": f"Predictions of {view.written} for {asked.input}.",
        "concurrency": {"limit": 1, "then": "queue"},
        "steps": {
            "data": {"dataset": asked.input},
            "model": {"dataset": f".models.{view.model}@{view.version.number}"},
            "predict": predict,
            "merge": merge,
        },
        "publish": [
            {"output": "${steps.merge.outputs.predictions}", "to": f"{target.dataset}@{target.ref or DEFAULT_BRANCH}"}
        ],
    }
    return yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, allow_unicode=True, width=120).encode()


def _files(backend: str, asked: BatchPrediction) -> dict[str, bytes]:
    files = {f"{_CODE}/{path}": content for path, content in program_files().items()}
    if asked.builds_environment:
        files[f"{_CODE}/requirements.txt"] = requirements(backend, *_TABLES).encode()
    return files
