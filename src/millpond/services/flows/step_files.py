"""Files of steps as they are written and kept: `project/dataset@COMMIT:path`, and outputs as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millpond.model.flow_run import Files, FlowStep, StepRun
from millpond.model.job import Job
from millpond.model.names import OUTPUT_DATASET, DatasetRef

FILES = "files"


def written_output(job: Job, name: str) -> str:
    """An output that lies in the commit of a job."""
    return f"{job.project}/{OUTPUT_DATASET}@{job.status.output_commit}:{name}"


def commit_of(place: str) -> str:
    return DatasetRef.parse(place).ref or ""


def outputs_of_job(job: Job) -> dict[str, Any]:
    """Outputs of a step whose job has succeeded, as they are kept."""
    made = job.status.step_made or {}
    types = {one.name: one.type for one in job.spec.step.outputs} if job.spec.step else {}
    files = {
        name: {FILES: written_output(job, name), "type": types.get(name, "directory")} for name in made.get("files", ())
    }
    return {**made.get("values", {}), **files}


def to_run(row: FlowStep) -> StepRun:
    """The step as decisions see it."""
    index = None if row.index < 0 else row.index
    return StepRun(row.step, index, row.each, row.state, row.reason, decoded(row.outputs))


def decoded(outputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _decoded(value) for name, value in outputs.items()}


def encoded(value: Any) -> Any:
    """An input or output as JSON."""
    if isinstance(value, Files):
        return {FILES: value.place, "type": value.type}
    if isinstance(value, list) and value and all(isinstance(one, Files) for one in value):
        return [encoded(one) for one in value]
    return value


def commits_in(outputs: Mapping[str, Any]) -> Iterator[str]:
    """The commits that outputs lie in."""
    for value in outputs.values():
        if isinstance(value, dict) and FILES in value:
            yield commit_of(value[FILES])


def _decoded(value: Any) -> Any:
    is_files = isinstance(value, dict) and value.keys() == {FILES, "type"}
    return Files(value[FILES], value["type"]) if is_files else value
