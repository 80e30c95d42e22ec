"""What a job with parameters finds, and what a flow's step leaves: the same files on every driver (docs/flows.md)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.decide.flows.outputs import MAX_VALUE_BYTES, StepOutcome, folders_to_make, outcome_of
from millpond.model.job_spec import JobSpec, JobStep

PARAMS = "mill-params.json"
VALUES = "mill-values.json"


def make(spec: JobSpec, *, output: Path, temporary: Path) -> None:
    """Write the parameters, if it has any, and make the folders of a step's outputs."""
    params = _params(spec)
    if params is not None:
        (temporary / PARAMS).write_text(json.dumps(dict(params), indent=1), "utf-8")
    for name in folders_to_make(spec.step.outputs if spec.step else ()):
        (output / name).mkdir()


def variables(spec: JobSpec, inputs: Mapping[str, Path], temporary: Path) -> dict[str, str]:
    """Of a job with parameters, and of a step. `inputs`: where commits lie, as the job sees it."""
    found = {"MILL_PARAMS": str(temporary / PARAMS)} if _params(spec) is not None else {}
    step = spec.step
    if step is None:
        return found
    return {
        **found,
        "MILL_VALUES": str(temporary / VALUES),
        "MILL_STEP": step.name,
        "MILL_FLOW_RUN": step.run,
        "MILL_INDEX": "" if step.index < 0 else str(step.index),
        **{one.env: str(inputs[one.env] / one.path) for one in spec.inputs if one.path and one.env in inputs},
        **{one.env: _address(one.dataset, one.commit_id, one.path) for one in spec.inputs if one.streamed},
    }


def outcome(step: JobStep, *, output: Path, temporary: Path) -> StepOutcome:
    """What it made, once its command has ended well. Links of the job are not followed."""
    made = {one.name for one in step.outputs if _made(output, one.name)}
    return outcome_of(step.outputs, _read(temporary / VALUES), made)


def _params(spec: JobSpec) -> Mapping[str, Any] | None:
    """A step has parameters even if they are none; any other job only if it was given some."""
    return spec.step.params if spec.step else spec.params or None


def _made(output: Path, name: str) -> bool:
    try:
        status = (output / name).lstat()
    except FileNotFoundError:
        return False
    return any((output / name).iterdir()) if stat.S_ISDIR(status.st_mode) else stat.S_ISREG(status.st_mode)


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with open(descriptor, "rb") as file:
        return file.read(MAX_VALUE_BYTES + 1)


def _address(dataset: str, commit_id: str, path: str) -> str:
    return f"mill://{dataset}@{commit_id}{f'/{path}' if path else ''}"
