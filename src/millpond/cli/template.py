"""`mill template`: named sizes that jobs run on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.templates import (
    create_template,
    get_template,
    list_templates,
    put_template,
    remove_template,
)
from millpond.errors import BadRequest
from millpond.model.quantity import format_gpus, parse_bytes, parse_gpus
from millpond.wire.templates import Template, TemplateCreate, TemplatePut

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the template.")]
ComputeOption = Annotated[str | None, typer.Option(metavar="COMPUTE", help="Compute to run on. Default: any.")]
Gpu = Annotated[str | None, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")]
Cpu = Annotated[int | None, typer.Option(metavar="N", help="CPUs.", min=0)]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="Memory, like 32GB.")]
GpuType = Annotated[str | None, typer.Option(metavar="TYPE", help="GPU type, like A100.")]
MinGpuMemory = Annotated[str | None, typer.Option(metavar="SIZE", help="Least memory of each GPU, like 40GB.")]
Image = Annotated[str | None, typer.Option("--image", "-i", metavar="IMAGE", help="Container image.")]
Selector = Annotated[
    list[str] | None, typer.Option("--node-selector", metavar="KEY=VALUE", help="Label of the node. Repeatable.")
]
Option = Annotated[
    list[str] | None, typer.Option("--option", "-o", metavar="KEY=VALUE", help="Driver option. Repeatable.")
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE", help="Variable. Repeatable.")]
Price = Annotated[float | None, typer.Option("--price-per-hour", min=0, help="Price of this size for one hour.")]
Description = Annotated[str | None, typer.Option("--description", "-d", help="Description.")]

_CLEARABLE = {
    "compute": "compute", "gpu": "gpus", "cpu": "cpu", "memory": "memory_bytes", "gpu-type": "gpu_type",
    "min-gpu-memory": "min_gpu_memory_bytes", "image": "image", "node-selector": "node_selector", "option": "options",
    "env": "env", "price-per-hour": "price_per_hour", "description": "description",
}  # fmt: skip


@command(app, "list")
def list_all(mill: Session) -> None:
    """List templates.

    Example: mill template list
    """
    mill.out.items(
        list_templates(mill.api),
        [
            ("TEMPLATE", lambda t: t.name),
            ("COMPUTE", lambda t: t.compute or "any"),
            ("GPUS", _gpus),
            ("GPU TYPE", lambda t: t.gpu_type),
            ("CPUS", lambda t: t.cpu or None),
            ("MEMORY", lambda t: Bytes(t.memory_bytes) if t.memory_bytes else None),
            ("PRICE PER HOUR", lambda t: t.price_per_hour or None),
            ("DESCRIPTION", lambda t: t.description),
        ],
        empty="No templates yet. An administrator can create one: mill template create NAME --gpu 1",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a template.

    Example: mill template show gpu-real
    """
    _show(mill, get_template(mill.api, name))


@command(app, "create")
def create(
    mill: Session,
    name: Name,
    compute: ComputeOption = None,
    gpu: Gpu = None,
    cpu: Cpu = None,
    memory: Memory = None,
    gpu_type: GpuType = None,
    min_gpu_memory: MinGpuMemory = None,
    image: Image = None,
    node_selector: Selector = None,
    option: Option = None,
    env: Env = None,
    price_per_hour: Price = None,
    description: Description = None,
) -> None:
    """Create a template: a named size that jobs run on with --on.

    It fills in what a job does not say itself.

    Example: mill template create gpu-real --compute dgx --gpu 1 --cpu 8 --memory 32GB --price-per-hour 2.5
    """
    given = _given(
        compute, gpu, cpu, memory, gpu_type, min_gpu_memory, image, node_selector, option, env, price_per_hour,
        description,
    )  # fmt: skip
    template = create_template(mill.api, TemplateCreate(name=name, **given))
    mill.out.note(f"Template {template.name} created. Use it: mill submit --on {template.name} -- COMMAND")
    _show(mill, template)


@command(app, "update")
def update(
    mill: Session,
    name: Name,
    compute: ComputeOption = None,
    gpu: Gpu = None,
    cpu: Cpu = None,
    memory: Memory = None,
    gpu_type: GpuType = None,
    min_gpu_memory: MinGpuMemory = None,
    image: Image = None,
    node_selector: Selector = None,
    option: Option = None,
    env: Env = None,
    price_per_hour: Price = None,
    description: Description = None,
    clear: Annotated[
        list[str] | None, typer.Option(metavar="OPTION", help="Clear this option, like image. Repeatable.")
    ] = None,
) -> None:
    """Change a template. Options that you leave out stay as they are.

    Queued jobs follow the change. Running jobs keep what they have.

    Example: mill template update gpu-real --price-per-hour 3 --clear image
    """
    given = _given(
        compute, gpu, cpu, memory, gpu_type, min_gpu_memory, image, node_selector, option, env, price_per_hour,
        description,
    )  # fmt: skip
    cleared = {_cleared(one) for one in clear or []}
    before = get_template(mill.api, name).model_dump(include=set(TemplatePut.model_fields) - cleared)
    for mapping in ("node_selector", "options", "env"):
        if mapping in given:
            given[mapping] = {**before.get(mapping, {}), **given[mapping]}
    template = put_template(mill.api, name, TemplatePut.model_validate({**before, **given}))
    mill.out.note(f"Template {template.name} updated.")
    _show(mill, template)


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a template. Refused while a queue or queued jobs need it.

    Example: mill template rm gpu-real
    """
    mill.confirm(f"Remove the template {name}?", yes=yes)
    remove_template(mill.api, name)
    mill.out.note(f"Template {name} removed.")


def _given(
    compute: str | None,
    gpu: str | None,
    cpu: int | None,
    memory: str | None,
    gpu_type: str | None,
    min_gpu_memory: str | None,
    image: str | None,
    node_selector: list[str] | None,
    option: list[str] | None,
    env: list[str] | None,
    price_per_hour: float | None,
    description: str | None,
) -> dict[str, Any]:
    """The fields that were given, as they are sent."""
    found = {
        "compute": compute,
        "gpus": None if gpu is None else format_gpus(parse_gpus(gpu)),
        "cpu": cpu,
        "memory_bytes": None if memory is None else parse_bytes(memory),
        "gpu_type": gpu_type,
        "min_gpu_memory_bytes": None if min_gpu_memory is None else parse_bytes(min_gpu_memory),
        "image": image,
        "node_selector": parse_pairs(node_selector, "--node-selector"),
        "options": parse_pairs(option, "--option"),
        "env": parse_pairs(env, "--env"),
        "price_per_hour": price_per_hour,
        "description": description,
    }
    return {key: value for key, value in found.items() if value is not None}


def _cleared(option: str) -> str:
    name = option.removeprefix("--")
    if name not in _CLEARABLE:
        raise BadRequest(f"--clear {option}: there is no such option.", hint=f"One of: {', '.join(_CLEARABLE)}.")
    return _CLEARABLE[name]


def _gpus(template: Template) -> str | None:
    return f"{template.gpus:g}" if template.gpus else None


def _show(mill: Session, template: Template) -> None:
    mill.out.shape(
        template,
        [
            ("template", template.name),
            ("description", template.description),
            ("compute", template.compute or "any"),
            ("GPUs", _gpus(template)),
            ("GPU type", template.gpu_type),
            ("GPU memory", Bytes(template.min_gpu_memory_bytes) if template.min_gpu_memory_bytes else None),
            ("CPUs", template.cpu or None),
            ("memory", Bytes(template.memory_bytes) if template.memory_bytes else None),
            ("image", template.image),
            ("node selector", [f"{key}={value}" for key, value in sorted(template.node_selector.items())]),
            ("options", [f"{key}={value}" for key, value in sorted(template.options.items())]),
            ("variables", [f"{key}={value}" for key, value in sorted(template.env.items())]),
            ("price per hour", template.price_per_hour or None),
            ("created", template.created_at),
            ("changed", template.changed_at),
            ("by", template.changed_by),
        ],
    )
