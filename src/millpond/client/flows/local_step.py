"""One step of a local run: a plain process that sees what a step of a job would see."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.decide.flows.values import why_wrong
from millpond.model.flow import VALUE_TYPES, Param, Port
from millpond.model.flow_run import Files

LOG = "log.txt"
_TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class LocalWork:
    """What to run, and where. `folder` is the step's own; `cwd` is where its code lies."""

    step: str
    index: int | None
    run_id: str
    command: Sequence[str]
    cwd: Path
    folder: Path
    inputs: Mapping[str, Any]
    params: Mapping[str, Any]
    outputs: Mapping[str, Port]


class LocalStep:
    """A running step. `outcome()` is its outputs, or what went wrong, once `poll()` is not None."""

    def __init__(self, work: LocalWork) -> None:
        self.work = work
        self._values = work.folder / "values.json"
        environment = _prepare(work, self._values)
        self._log = (work.folder / LOG).open("wb")
        command = [sys.executable if work.command[0] == "python" else work.command[0], *work.command[1:]]
        try:
            self._process = subprocess.Popen(
                command, cwd=work.cwd, env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._log.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.poll()

    def outcome(self) -> Mapping[str, Any] | str:
        """Its outputs by name, or the problem in words."""
        code = self._process.wait()
        self._log.close()
        if code:
            return f"exit code {code}" if code > 0 else f"signal {-code}"
        return _collect(self.work, self._values)


def variable(name: str) -> str:
    """`MILL_INPUT_TRAIN_DATA` for the input `train-data`."""
    return f"MILL_INPUT_{re.sub(r'[^A-Za-z0-9]', '_', name).upper()}"


def _prepare(work: LocalWork, values: Path) -> dict[str, str]:
    output, checkpoint = work.folder / "output", work.folder / "checkpoint"
    for folder in (output, checkpoint):
        folder.mkdir(parents=True, exist_ok=True)
    for port in work.outputs.values():
        if port.type not in VALUE_TYPES and port.type not in ("file", "metrics"):
            (output / port.name).mkdir(exist_ok=True)
    params = work.folder / "params.json"
    params.write_text(json.dumps(work.params, indent=1), "utf-8")
    return {
        **os.environ,
        "MILL_PARAMS": str(params),
        "MILL_OUTPUT": str(output),
        "MILL_VALUES": str(values),
        "MILL_CHECKPOINT": str(checkpoint),
        "MILL_STEP": work.step,
        "MILL_FLOW_RUN": work.run_id,
        "MILL_INDEX": "" if work.index is None else str(work.index),
        **{variable(name): str(_input(work, name, given)) for name, given in work.inputs.items()},
    }


def _input(work: LocalWork, name: str, given: Files | list[Files]) -> Path:
    """The folder of an input; of a fan-in one with 0/, 1/, … in order."""
    if isinstance(given, Files):
        return Path(given.place)
    gathered = work.folder / "inputs" / name
    gathered.mkdir(parents=True, exist_ok=True)
    for index, files in enumerate(given):
        (gathered / str(index)).symlink_to(files.place)
    return gathered


def _collect(work: LocalWork, values: Path) -> Mapping[str, Any] | str:
    try:
        told = json.loads(values.read_text("utf-8")) if values.exists() else {}
    except ValueError as error:
        return f"$MILL_VALUES is not JSON: {error}"
    if not isinstance(told, dict):
        return "$MILL_VALUES must hold a JSON object."
    found: dict[str, Any] = {}
    for port in work.outputs.values():
        made = work.folder / "output" / port.name
        if port.type in VALUE_TYPES:
            if told.get(port.name) is not None:
                if wrong := why_wrong(Param(f"output {port.name}", port.type), told[port.name]):
                    return wrong
                found[port.name] = told[port.name]
        elif made.is_file() or (made.is_dir() and any(made.iterdir())):
            found[port.name] = Files(str(made), port.type)
        if port.name not in found and port.required:
            return f"missing output {port.name}"
    return found


def log_tail(path: Path) -> str:
    """The last lines of a log; empty if there is none."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", "replace").strip()
