"""One component alone on the server: a flow of one step, so that it is pinned, remembered and traced like any other."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from millpond.client.flows.flow_file import COMPONENTS, FILE, FlowFile
from millpond.client.flows.flows import save_flow
from millpond.client.http import Api
from millpond.decide.flows.fields import nearest
from millpond.errors import BadRequest
from millpond.library.catalog import FoundComponent
from millpond.model.component import Component
from millpond.model.flow import FLOW_SCHEMA
from millpond.wire.flows import Flow

# The step that runs the component; dataset steps are named by its inputs.
STEP = "run"


def save_component_flow(
    api: Api, project: str, found: FoundComponent, *, inputs: Mapping[str, str], params: Mapping[str, Any],
    brings_files: bool,
) -> Flow:  # fmt: skip
    """Save the flow `run-NAME` that runs the component on these datasets. `brings_files`: the server lacks it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILE)
        if brings_files:
            shutil.copytree(found.folder, path.parent / COMPONENTS / found.component.name)
        return save_flow(api, project, FlowFile(path, component_flow(found.component, inputs, params)))


def component_flow(component: Component, inputs: Mapping[str, str], params: Mapping[str, Any]) -> str:
    """The text of the flow. BadRequest for an input that the component does not have or lacks."""
    for name in inputs:
        if name not in component.inputs:
            raise BadRequest(f"Component {component.name} has no input {name!r}.", hint=nearest(name, component.inputs))
    lacking = [port.name for port in component.inputs.values() if port.required and port.name not in inputs]
    if lacking:
        hint = f"Give it: --input {lacking[0]}=DATASET@REF"
        raise BadRequest(f"Component {component.name} needs the input {lacking[0]!r}.", hint=hint)
    step: dict[str, Any] = {"component": str(component.ref)}
    if inputs:
        step["inputs"] = {name: f"${{steps.{_node(name)}}}" for name in inputs}
    if params:
        step["params"] = {name: _literal(value) for name, value in params.items()}
    document = {
        "schema": FLOW_SCHEMA,
        "name": f"run-{component.name}",
        "description": f"{component.title or component.name}, run alone by mill library run.",
        "steps": {**{_node(name): {"dataset": ref} for name, ref in inputs.items()}, STEP: step},
    }
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text


def _node(name: str) -> str:
    return f"input-{name.replace('_', '-')}"


def _literal(value: Any) -> Any:
    """A text is no reference, whatever it holds."""
    return value.replace("${", "$${") if isinstance(value, str) else value
