"""Runs one component as a plain process on this machine, by the contract of a step."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from millpond.client.flows.local_step import LOG, LocalStep, LocalWork
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.values import why_wrong
from millpond.errors import BadRequest
from millpond.model.component import REGISTER, Component
from millpond.model.flow_run import Files
from millpond.model.ids import new_id

_LOOK_SECONDS = 0.02
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class ComponentRun:
    """How it ended. `outputs`: values, and `Files` for the others. `problem`: why it failed, "" if it did not."""

    outputs: Mapping[str, Any]
    problem: str
    log: str
    folder: Path
    seconds: float

    def path(self, output: str) -> Path:
        """The folder of an output that is files."""
        return self.folder / "output" / output


def run_component(
    component: Component, folder: Path, *, inputs: Mapping[str, Path], params: Mapping[str, Any], work: Path
) -> ComponentRun:
    """Run the component of `folder` to its end, with everything it writes below `work`.

    BadRequest for inputs and parameters that it does not have or cannot use. Called again with the same `work`, it
    finds its checkpoint there.
    """
    if component.category == REGISTER:
        raise BadRequest(
            f"Component {component.name} does not run alone: the server does its work at the end of a flow.",
            hint="Use it as a step of a flow.",
        )
    values = checked_params(component, params)
    work = work.resolve()  # the process runs in the component's folder, where a relative path means another place
    step = LocalStep(
        LocalWork(
            component.name, None, new_id(), component.command, folder, work, _checked_inputs(component, inputs), values,
            component.outputs,
        )
    )  # fmt: skip
    began = time.monotonic()
    while step.poll() is None:
        time.sleep(_LOOK_SECONDS)
    outcome = step.outcome()
    log = (work / LOG).read_text("utf-8", "replace")
    seconds = time.monotonic() - began
    if isinstance(outcome, str):
        return ComponentRun({}, outcome, log, work, seconds)
    return ComponentRun(outcome, "", log, work, seconds)


def checked_params(component: Component, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters with their values. BadRequest with everything that is wrong with what was given."""
    unknown = [name for name in given if name not in component.params]
    if unknown:
        raise BadRequest(
            f"Component {component.name} has no parameter {unknown[0]!r}.", hint=nearest(unknown[0], component.params)
        )
    values = {name: given.get(name, param.default) for name, param in component.params.items()}
    wrong = [why for name, param in component.params.items() if (why := why_wrong(param, values[name]))]
    if wrong:
        raise BadRequest(" ".join(wrong), hint=f"See its parameters: mill library show {component.name}")
    return values


def missing_packages(component: Component, folder: Path) -> list[str]:
    """Packages of its requirements file that this Python lacks."""
    path = folder / (component.environment.requirements or "requirements.txt")
    if not path.is_file():
        return []
    lines = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("-") and not _is_installed(line)]


def _is_installed(requirement: str) -> bool:
    found = _PACKAGE.match(requirement)
    if found is None:
        return True
    try:
        metadata.version(found[0])
    except metadata.PackageNotFoundError:
        return False
    return True


def _checked_inputs(component: Component, given: Mapping[str, Path]) -> dict[str, Any]:
    for name, path in given.items():
        if name not in component.inputs:
            raise BadRequest(f"Component {component.name} has no input {name!r}.", hint=nearest(name, component.inputs))
        if not path.exists():
            raise BadRequest(f"Input {name!r} does not exist: {path}", hint="Give a folder of this machine.")
    lacking = [port.name for port in component.inputs.values() if port.required and port.name not in given]
    if lacking:
        raise BadRequest(
            f"Component {component.name} needs the input {lacking[0]!r}.", hint=f"Give it: --input {lacking[0]}=…"
        )
    return {name: Files(str(path.resolve())) for name, path in given.items()}
