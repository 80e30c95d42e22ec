"""`mill project create` and `update`: a project with its quota and the other settings of its GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Seconds
from millpond.client.people import change_project, create_project
from millpond.errors import BadRequest
from millpond.model.quantity import format_count, format_gpus, parse_gpu_amount, parse_seconds
from millpond.wire.people import Project, ProjectChange, ProjectCreate

NONE = "none"

Name = Annotated[str, typer.Argument(help="Name of the project.")]
Description = Annotated[str | None, typer.Option("--description", "-d", help="Description.")]
Quota = Annotated[
    list[str] | None,
    typer.Option("--quota", metavar="GPUS|POOL=GPUS", help="GPUs guaranteed to the project; of a pool: POOL=GPUS."),
]
Weight = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Weight for GPUs beyond the quotas; `none`: as large as the quota."),
]
Limit = Annotated[
    str | None, typer.Option(metavar="GPUS", help="The most GPUs its jobs hold at once; `none` for no limit.")
]
OverQuota = Annotated[
    bool | None,
    typer.Option("--over-quota/--no-over-quota", help="Use GPUs beyond the quota while others leave them idle."),
]
TrainAffinity = Annotated[
    list[str] | None,
    typer.Option("--train-affinity", metavar="KEY=VALUE", help="Label of the nodes that training jobs run on."),
]
InteractiveAffinity = Annotated[
    list[str] | None,
    typer.Option("--interactive-affinity", metavar="KEY=VALUE", help="Label of the nodes for interactive jobs."),
]
InteractiveTime = Annotated[
    str | None, typer.Option(metavar="TIME", help="The longest an interactive job runs, like 12h; 0 for no limit.")
]
InteractiveIdle = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Stop interactive jobs that nobody uses for so long, like 1h; 0: never."),
]
MinRuntime = Annotated[
    str | None, typer.Option(metavar="TIME", help="What a job has run at least before it is preempted, like 10m.")
]


def add_settings_commands(app: typer.Typer) -> None:
    command(app, "create")(create)
    command(app, "update")(update)


def create(
    mill: Session,
    name: Name,
    description: Description = None,
    quota: Quota = None,
    weight: Weight = None,
    limit: Limit = None,
    over_quota: OverQuota = None,
    train_affinity: TrainAffinity = None,
    interactive_affinity: InteractiveAffinity = None,
    interactive_time: InteractiveTime = None,
    interactive_idle: InteractiveIdle = None,
    min_runtime: MinRuntime = None,
) -> None:
    """Create a project.

    Example: mill project create vision --quota 4
    """
    settings = _settings(
        quota=quota, weight=weight, limit=limit, over_quota=over_quota, train_affinity=train_affinity,
        interactive_affinity=interactive_affinity, interactive_time=interactive_time,
        interactive_idle=interactive_idle, min_runtime=min_runtime,
    )  # fmt: skip
    project = create_project(mill.api, ProjectCreate(name=name, description=description or "", **settings))
    mill.out.note(f"Project {project.name} created.")
    show_project(mill, project)


def update(
    mill: Session,
    name: Name,
    description: Description = None,
    quota: Quota = None,
    weight: Weight = None,
    limit: Limit = None,
    over_quota: OverQuota = None,
    train_affinity: TrainAffinity = None,
    interactive_affinity: InteractiveAffinity = None,
    interactive_time: InteractiveTime = None,
    interactive_idle: InteractiveIdle = None,
    min_runtime: MinRuntime = None,
) -> None:
    """Change a project. What is not given stays; `--train-affinity none` removes one.

    Example: mill project update vision --quota 2 --limit 8
    """
    settings = _settings(
        quota=quota, weight=weight, limit=limit, over_quota=over_quota, train_affinity=train_affinity,
        interactive_affinity=interactive_affinity, interactive_time=interactive_time,
        interactive_idle=interactive_idle, min_runtime=min_runtime,
    )  # fmt: skip
    if description is not None:
        settings["description"] = description
    if not settings:
        raise BadRequest("Nothing to change.", hint="Give what to change, like --quota 4. See: mill project update -h")
    project = change_project(mill.api, name, ProjectChange(**settings))
    mill.out.note(f"Project {project.name} updated.")
    show_project(mill, project)


def show_project(mill: Session, project: Project) -> None:
    for warning in project.warnings:
        mill.out.warn(warning)
    mill.out.shape(
        project,
        [
            ("project", project.name),
            ("id", project.id),
            ("description", project.description),
            ("your role", project.role),
            ("created", project.created_at),
            ("quota", gpus(project.quota)),
            *((f"quota in {pool}", gpus(quota)) for pool, quota in sorted(project.pool_quotas.items())),
            ("weight", gpus(project.weight)),
            ("limit", gpus(project.limit)),
            ("over quota", "allowed" if project.over_quota else "not allowed"),
            ("share now", gpus(project.share)),
            ("allocated", gpus(project.allocated)),
            ("pending", f"{gpus(project.pending_gpus)} GPUs, {format_count(project.pending_jobs, 'job')}"),
            ("training on", _labels(project.train_affinity)),
            ("interactive on", _labels(project.interactive_affinity)),
            ("interactive time", Seconds(project.interactive_time) if project.interactive_time else None),
            ("interactive idle", Seconds(project.interactive_idle) if project.interactive_idle else None),
            ("min runtime", Seconds(project.min_runtime) if project.min_runtime else None),
        ],
    )


def gpus(amount: float | None) -> str:
    return "" if amount is None else format_gpus(round(amount * 100))


def _labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _settings(**given: Any) -> dict[str, Any]:
    """What was given, as the API takes it."""
    found = {name: _READERS[name](value) for name, value in given.items() if value is not None and name != "quota"}
    return found | _quotas(given["quota"] or [])


def _quotas(given: list[str]) -> dict[str, Any]:
    plain = [one for one in given if "=" not in one]
    if len(plain) > 1:
        raise BadRequest("Two quotas were given.", hint="Give one number of GPUs; of a pool, write POOL=GPUS.")
    pools = dict(_pair(one) for one in given if "=" in one)
    found: dict[str, Any] = {"quota": _amount(plain[0])} if plain else {}
    return found | ({"pool_quotas": {pool: _amount(quota) or 0 for pool, quota in pools.items()}} if pools else {})


def _amount(text: str) -> float | None:
    return None if text.lower() == NONE else parse_gpu_amount(text) / 100


def _affinity(given: list[str]) -> dict[str, str]:
    return {} if [one.lower() for one in given] == [NONE] else dict(_pair(one) for one in given)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise BadRequest(f"{text!r} is not KEY=VALUE.", hint="Write it as gpu=a100.")
    return key, value


_READERS: dict[str, Any] = {
    "weight": _amount,
    "limit": _amount,
    "over_quota": bool,
    "train_affinity": _affinity,
    "interactive_affinity": _affinity,
    "interactive_time": parse_seconds,
    "interactive_idle": parse_seconds,
    "min_runtime": parse_seconds,
}
