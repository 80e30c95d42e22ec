"""From the text of `component.yaml` to a component, with everything that is wrong with it."""

from __future__ import annotations

import re

from millpond.decide.flows.document import read_document
from millpond.decide.flows.fields import Fields
from millpond.decide.flows.reader import read_params, read_ports
from millpond.decide.flows.values import why_wrong
from millpond.model.component import CATEGORIES, REGISTER, Component, ComponentEnvironment, ComponentResources
from millpond.model.flow import COMPONENT_SCHEMA, FlowProblem
from millpond.model.quantity import parse_bytes, parse_gpus

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_KEYS = (
    "schema", "name", "version", "title", "category", "description", "command", "image", "environment", "resources",
    "checkpoint", "remember", "params", "inputs", "outputs", "docs", "example",
)  # fmt: skip


def read_component(text: str) -> tuple[Component | None, list[FlowProblem]]:
    """The component of a text; None if anything is wrong with it."""
    document, problems = read_document(text)
    top = Fields(document, (), problems)
    if not top.is_mapping:
        return None, problems or [document.problem((), "type", "A component must be a mapping.")]
    if top.value.get("schema") != COMPONENT_SCHEMA:
        hint = f"Write: schema: {COMPONENT_SCHEMA}"
        top.note(("schema",), "schema", f"Unknown schema {top.value.get('schema')!r}.", hint)
    top.only(_KEYS)
    component = _component(top)
    return (None if problems else component), problems


def _component(top: Fields) -> Component:
    name, version = top.text("name"), top.text("version")
    if not _NAME.fullmatch(name):
        hint = "Use lower-case letters, digits and '-'."
        top.note(("name",), "name", f"{name!r} is not a valid name for a component.", hint)
    if not _VERSION.fullmatch(version):
        top.note(("version",), "version", f"{version!r} is not a version.", "Write MAJOR.MINOR.PATCH, like 1.0.0.")
        version = "0.0.0"
    category = top.choice("category", CATEGORIES, "script")
    if "command" not in top and "image" not in top and category != REGISTER:
        top.note((), "command", "The component runs nothing.", "Give a command, an image, or both.")
    params = read_params(top.inside("params"), also=("secret",))
    for param in params.values():
        if param.has_default and (wrong := why_wrong(param, param.default)):
            top.note(("params", param.name, "default"), "value", wrong)
    return Component(
        name=name,
        version=tuple(int(part) for part in version.split(".")),
        title=top.text("title", name),
        category=category,
        description=top.text("description"),
        command=top.texts("command"),
        image=top.optional_text("image"),
        environment=_environment(top.inside("environment")),
        resources=_resources(top.inside("resources")),
        checkpoint=top.flag("checkpoint", False),
        remember=top.flag("remember", True),
        params=params,
        inputs=read_ports(top.inside("inputs")),
        outputs=read_ports(top.inside("outputs")),
        docs=top.optional_text("docs"),
        example=top.mapping("example"),
    )


def _environment(fields: Fields) -> ComponentEnvironment:
    fields.only(("python", "requirements", "lock"))
    return ComponentEnvironment(fields.text("python"), fields.text("requirements"), fields.text("lock"))


def _resources(fields: Fields) -> ComponentResources:
    fields.only(("cpu", "memory", "gpu", "processes", "gpu_optional"))
    return ComponentResources(
        cpu=fields.number("cpu", 0),
        memory_bytes=fields.parsed(("memory",), parse_bytes, fields.text("memory", "0"), 0),
        gpu_hundredths=fields.parsed(("gpu",), parse_gpus, fields.text("gpu", "0"), 0),
        processes=_processes(fields),
        gpu_optional=fields.flag("gpu_optional", False),
    )


def _processes(fields: Fields) -> int:
    """One process is a plain command."""
    count = fields.number("processes", 1, least=1, most=1024)
    return 0 if count == 1 else count
