"""A component in words: its JSON document, and the tables of its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millpond.library.catalog import FoundComponent
from millpond.model.component import Component
from millpond.model.flow import Param, Port
from millpond.model.quantity import format_bytes, format_gpus


def component_document(found: FoundComponent) -> dict[str, Any]:
    """What `mill library show --json` prints."""
    component = found.component
    return {
        "name": component.name,
        "version": component.version_text,
        "title": component.title,
        "category": component.category,
        "description": component.description,
        "origin": found.origin,
        "folder": str(found.folder),
        "digest": found.digest,
        "command": list(component.command),
        "image": component.image,
        "environment": {
            "python": component.environment.python,
            "requirements": component.environment.requirements,
            "lock": component.environment.lock,
        },
        "resources": {
            "cpu": component.resources.cpu,
            "memory_bytes": component.resources.memory_bytes,
            "gpu_hundredths": component.resources.gpu_hundredths,
            "processes": component.resources.processes or 1,
            "gpu_optional": component.resources.gpu_optional,
        },
        "checkpoint": component.checkpoint,
        "remember": component.remember,
        "params": {name: param_document(param) for name, param in component.params.items()},
        "inputs": {name: port_document(port) for name, port in component.inputs.items()},
        "outputs": {name: port_document(port) for name, port in component.outputs.items()},
        "example": dict(component.example),
    }


def param_document(param: Param) -> dict[str, Any]:
    """As in component.yaml: only what is set."""
    bounds = {"min": param.min, "max": param.max, "help": param.help or None, "choices": list(param.choices) or None}
    flags = {"optional": param.optional, "exclusive_min": param.exclusive_min}
    found: dict[str, Any] = {"type": param.type}
    if param.has_default:
        found["default"] = param.default
    found |= {key: value for key, value in bounds.items() if value is not None}
    found |= {key: True for key, value in flags.items() if value}
    return found | ({"scale": param.scale} if param.scale != "linear" else {})


def port_document(port: Port) -> dict[str, Any]:
    return {"type": port.type, "required": port.required, **({"help": port.help} if port.help else {})}


def param_type(param: Param) -> str:
    """`enum: 18, 34, 50`, `int ≥ 1`, `float 0 … 0.9`."""
    if param.choices:
        return f"{param.type}: {', '.join(map(str, param.choices))}"
    least = None if param.min is None else f"{param.min:g}"
    if least is not None and param.max is not None:
        return f"{param.type} {least} … {param.max:g}"
    if least is not None:
        return f"{param.type} {'>' if param.exclusive_min else '≥'} {least}"
    return param.type if param.max is None else f"{param.type} ≤ {param.max:g}"


def param_default(param: Param) -> str:
    if isinstance(param.default, bool):
        return str(param.default).lower()
    if param.has_default:
        return str(param.default)
    return "–" if param.optional else "required"


def resources_text(component: Component) -> str:
    resources = component.resources
    parts = [
        f"{resources.cpu} CPU" if resources.cpu == 1 else f"{resources.cpu} CPUs" if resources.cpu else "",
        f"{format_bytes(resources.memory_bytes)} of memory" if resources.memory_bytes else "",
        f"{format_gpus(resources.gpu_hundredths)} GPU" if resources.gpu_hundredths else "",
        "uses a GPU if there is one" if resources.gpu_optional else "",
        f"{resources.processes} processes" if resources.processes else "",
    ]
    return ", ".join(part for part in parts if part)


def markdown(found: FoundComponent) -> str:
    """Its section of docs/library.md: what it takes and what it makes."""
    component = found.component
    lines = [f"### `{component.name}` {component.version_text}", "", f"{component.title}. {component.description}", ""]
    if text := resources_text(component):
        lines += [f"Resources: {text}." + (" Resumes from its checkpoint." if component.checkpoint else ""), ""]
    if component.params:
        rows = [(f"`{one.name}`", param_type(one), param_default(one), one.help) for one in component.params.values()]
        lines += [*_table(("parameter", "type", "default", ""), rows), ""]
    lines += [*_table(("input or output", "type", ""), _port_rows(component)), ""]
    return "\n".join(lines)


def _port_rows(component: Component) -> list[tuple[str, ...]]:
    def rows(ports: Mapping[str, Port], word: str) -> list[tuple[str, ...]]:
        return [
            (f"{word} `{one.name}`", one.type, ". ".join(filter(None, (one.help, "" if one.required else "Optional"))))
            for one in ports.values()
        ]

    return [*rows(component.inputs, "input"), *rows(component.outputs, "output")]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in cells)]
