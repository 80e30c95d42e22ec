"""`mill flow run --local`: the steps as processes of this machine, told line by line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from millpond.cli.follow import FAILED
from millpond.cli.session import Session
from millpond.client.flows.flow_file import FlowFile
from millpond.client.flows.local_run import LocalRun, run_locally
from millpond.client.flows.local_step import LOG, log_tail
from millpond.model.flow_run import Files, StepRun, StepState


def run_here(mill: Session, file: FlowFile, given: Mapping[str, str], data: Mapping[str, str]) -> None:
    """Run it to its end, and exit with the matching code."""
    folders = {name: Path(value) for name, value in data.items()}
    ended = run_locally(file, given=given, folders=folders, tell=lambda one, log: _tell(mill, one, log))
    if mill.out.as_json:
        mill.out.json(_run_document(ended))
    mill.out.note(f"Flow {ended.flow} {ended.state.value}. {ended.reason}".strip())
    mill.out.note(f"Outputs and logs: {ended.folder}")
    if ended.state is not StepState.SUCCEEDED:
        raise typer.Exit(FAILED)


def _tell(mill: Session, run: StepRun, log: Path) -> None:
    reason = f": {run.reason}" if run.reason else ""
    mill.out.note(f"{run.label} {run.state.value}{reason}")
    if run.state is StepState.FAILED and (tail := log_tail(log)):
        mill.out.note("\n".join(f"  {line}" for line in tail.splitlines()))


def _run_document(run: LocalRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "flow": run.flow,
        "state": run.state.value,
        "reason": run.reason,
        "params": run.params,
        "folder": str(run.folder),
        "steps": [_step_document(run, step) for step in run.steps],
    }


def _step_document(run: LocalRun, step: StepRun) -> dict[str, Any]:
    folder = run.folder / (step.step if step.index is None else f"{step.step}-{step.index}")
    log = folder / LOG
    return {
        "name": step.step,
        "index": step.index,
        "state": step.state.value,
        "reason": step.reason,
        "each": step.each,
        "outputs": {name: one.place if isinstance(one, Files) else one for name, one in step.outputs.items()},
        "log": str(log) if log.exists() else None,
    }
