"""`mill elastic`: computes whose machines are created on demand."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.elastic import create_elastic, get_elastic, list_elastic, put_elastic, remove_elastic
from millpond.model.quantity import format_seconds, parse_bytes, parse_seconds
from millpond.wire.elastic import Elastic, ElasticCreate, ElasticPut

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the elastic compute.")]
Provisioner = Annotated[
    str | None,
    typer.Option("--provisioner", metavar="NAME", help="Provisioner: a directory of commands on the server."),
]
Site = Annotated[str | None, typer.Option(help="Site of its machines. Default: local.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", metavar="KEY=VALUE", help="Option for the provisioner, like region. Repeatable."),
]
Gpus = Annotated[int | None, typer.Option("--gpus", "-g", metavar="N", help="GPUs of a machine.", min=0)]
Cpus = Annotated[int | None, typer.Option("--cpus", metavar="N", help="CPUs of a machine.", min=1)]
Memory = Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of a machine, like 64GB.")]
GpuType = Annotated[str | None, typer.Option(metavar="TYPE", help="GPU type, like A100.")]
GpuMemory = Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of each GPU, like 40GB.")]
Labels = Annotated[list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="Node label. Repeatable.")]
Driver = Annotated[str | None, typer.Option(help="How jobs run there: process or podman. Default: process.")]
Price = Annotated[float | None, typer.Option("--price-per-hour", min=0, help="Price of a machine for one hour.")]
Minimum = Annotated[int | None, typer.Option("--min", metavar="N", help="Least number of machines. Default: 0.", min=0)]
Maximum = Annotated[
    int | None, typer.Option("--max", metavar="N", help="Largest number of machines. Default: 1.", min=0)
]
Wait = Annotated[
    str | None,
    typer.Option("--wait", metavar="TIME", help="Create a machine for jobs that wait this long. Default: 5s."),
]
Idle = Annotated[
    str | None, typer.Option("--idle", metavar="TIME", help="Delete idle machines after this. Default: 10m.")
]
Start = Annotated[
    str | None, typer.Option("--start", metavar="TIME", help="Give up machines not up by then. Default: 15m.")
]
TrustAll = Annotated[
    bool | None,
    typer.Option("--trust-all/--no-trust-all", help="Allow all projects, even if their jobs share one account."),
]
Description = Annotated[str | None, typer.Option("--description", "-d", help="Description.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List elastic computes.

    Example: mill elastic list
    """
    mill.out.items(
        list_elastic(mill.api),
        [
            ("ELASTIC", lambda e: e.name),
            ("PROVISIONER", lambda e: e.provisioner),
            ("SITE", lambda e: e.site),
            ("READY", lambda e: e.ready),
            ("STARTING", lambda e: e.starting),
            ("DELETING", lambda e: e.deleting),
            ("MIN", lambda e: e.minimum),
            ("MAX", lambda e: e.maximum),
            ("GPUS", lambda e: e.gpus or None),
            ("PRICE PER HOUR", lambda e: e.price_per_hour or None),
            ("PROBLEM", lambda e: e.problem),
        ],
        empty="No elastic computes yet. An administrator can create one: mill elastic create NAME --provisioner P",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show an elastic compute and its machines.

    Example: mill elastic show burst
    """
    _show(mill, get_elastic(mill.api, name))


@command(app, "create")
def create(
    mill: Session,
    name: Name,
    provisioner: Annotated[
        str, typer.Option("--provisioner", metavar="NAME", help="Provisioner: a directory of commands on the server.")
    ],
    site: Site = None,
    option: Options = None,
    gpus: Gpus = None,
    cpus: Cpus = None,
    memory: Memory = None,
    gpu_type: GpuType = None,
    gpu_memory: GpuMemory = None,
    label: Labels = None,
    driver: Driver = None,
    price_per_hour: Price = None,
    minimum: Minimum = None,
    maximum: Maximum = None,
    wait: Wait = None,
    idle: Idle = None,
    start: Start = None,
    trust_all: TrustAll = None,
    description: Description = None,
) -> None:
    """Create an elastic compute: machines that are created while jobs wait, and deleted when idle.

    Jobs and templates name it with --compute.

    Example: mill elastic create burst --provisioner aws -o instance_type=g5.xlarge --gpus 1 --cpus 4 --memory 16GB
    """
    given = _given(
        provisioner, site or "local", option, gpus, cpus, memory, gpu_type, gpu_memory, label, driver, price_per_hour,
        minimum, maximum, wait, idle, start, trust_all, description,
    )  # fmt: skip
    made = create_elastic(mill.api, ElasticCreate(name=name, **given))
    mill.out.note(f"Elastic compute {made.name} created. Use it: mill submit --compute {made.name} -- COMMAND")
    _show(mill, made)


@command(app, "update")
def update(
    mill: Session,
    name: Name,
    provisioner: Provisioner = None,
    site: Site = None,
    option: Options = None,
    gpus: Gpus = None,
    cpus: Cpus = None,
    memory: Memory = None,
    gpu_type: GpuType = None,
    gpu_memory: GpuMemory = None,
    label: Labels = None,
    driver: Driver = None,
    price_per_hour: Price = None,
    minimum: Minimum = None,
    maximum: Maximum = None,
    wait: Wait = None,
    idle: Idle = None,
    start: Start = None,
    trust_all: TrustAll = None,
    description: Description = None,
) -> None:
    """Change an elastic compute. Options that you leave out stay as they are.

    New sizes are those of new machines. Machines above --max are deleted once they have no jobs.

    Example: mill elastic update burst --max 4 --idle 5m
    """
    given = _given(
        provisioner, site, option, gpus, cpus, memory, gpu_type, gpu_memory, label, driver, price_per_hour, minimum,
        maximum, wait, idle, start, trust_all, description,
    )  # fmt: skip
    before = get_elastic(mill.api, name).model_dump(include=set(ElasticPut.model_fields))
    for mapping in ("options", "labels"):
        if mapping in given:
            given[mapping] = {**before[mapping], **given[mapping]}
    changed = put_elastic(mill.api, name, ElasticPut.model_validate({**before, **given}))
    mill.out.note(f"Elastic compute {changed.name} updated.")
    _show(mill, changed)


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove an elastic compute. Refused while it has machines.

    Example: mill elastic rm burst
    """
    mill.confirm(f"Remove the elastic compute {name}?", yes=yes)
    remove_elastic(mill.api, name)
    mill.out.note(f"Elastic compute {name} removed.")


def _given(
    provisioner: str | None,
    site: str | None,
    option: list[str] | None,
    gpus: int | None,
    cpus: int | None,
    memory: str | None,
    gpu_type: str | None,
    gpu_memory: str | None,
    label: list[str] | None,
    driver: str | None,
    price_per_hour: float | None,
    minimum: int | None,
    maximum: int | None,
    wait: str | None,
    idle: str | None,
    start: str | None,
    trust_all: bool | None,
    description: str | None,
) -> dict[str, Any]:
    """The fields that were given, as they are sent."""
    found = {
        "provisioner": provisioner,
        "site": site,
        "options": parse_pairs(option, "--option"),
        "gpus": gpus,
        "cpus": cpus,
        "memory_bytes": None if memory is None else parse_bytes(memory),
        "gpu_type": gpu_type,
        "gpu_memory_bytes": None if gpu_memory is None else parse_bytes(gpu_memory),
        "labels": parse_pairs(label, "--label"),
        "driver": driver,
        "price_per_hour": price_per_hour,
        "minimum": minimum,
        "maximum": maximum,
        "wait_seconds": None if wait is None else parse_seconds(wait),
        "idle_seconds": None if idle is None else parse_seconds(idle),
        "start_seconds": None if start is None else parse_seconds(start),
        "trust_all": trust_all,
        "description": description,
    }
    return {key: value for key, value in found.items() if value is not None}


def _show(mill: Session, found: Elastic) -> None:
    mill.out.shape(
        found,
        [
            ("elastic", found.name),
            ("description", found.description),
            ("provisioner", found.provisioner),
            ("options", [f"{key}={value}" for key, value in sorted(found.options.items())]),
            ("site", found.site),
            ("machines", f"{found.ready} ready, {found.starting} starting, {found.deleting} deleting"),
            ("limits", f"{found.minimum} to {found.maximum}"),
            ("GPUs", found.gpus or None),
            ("GPU type", found.gpu_type),
            ("GPU memory", Bytes(found.gpu_memory_bytes) if found.gpu_memory_bytes else None),
            ("CPUs", found.cpus),
            ("memory", Bytes(found.memory_bytes) if found.memory_bytes else None),
            ("labels", [f"{key}={value}" for key, value in sorted(found.labels.items())]),
            ("driver", found.driver),
            ("price per hour", found.price_per_hour or None),
            ("wait", format_seconds(found.wait_seconds)),
            ("idle", format_seconds(found.idle_seconds)),
            ("start", format_seconds(found.start_seconds)),
            ("problem", found.problem),
            ("tried again", found.retry_at),
            ("nodes", [f"{node.name}: {node.state}. {node.reason}" for node in found.nodes[:20]]),
            ("changed", found.changed_at),
            ("by", found.changed_by),
        ],
    )
