"""`mill model`: versions of models, registered from runs, commits and folders; aliases, stages, comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli import model_batch, model_changes, model_check
from millpond.cli.command import command
from millpond.cli.model_arguments import ModelName, Version, split_tags
from millpond.cli.model_check import check_rows
from millpond.cli.output import Column
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client import models as calls
from millpond.errors import BadRequest
from millpond.model.model import split_written
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.models import Model, ModelComparison, ModelVersion, ValueDifference

app = typer.Typer()
app.registered_commands += model_changes.app.registered_commands
app.registered_commands += model_batch.app.registered_commands
app.registered_commands += model_check.app.registered_commands


@command(app, "list")
def list_all(
    mill: Session,
    search: Annotated[str | None, typer.Option(help="Only models with this in their name.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="List models in the bin.")] = False,
) -> None:
    """List models with their newest version and aliases.

    Example: mill model list --search chest
    """
    columns: list[Column[Model]] = [
        ("MODEL", lambda m: m.name),
        ("NEWEST", lambda m: m.newest.version if m.newest else None),
        ("VERSIONS", lambda m: m.versions),
        ("ALIASES", lambda m: _aliases(m.aliases)),
        ("METRICS", lambda m: _metrics(m.newest.metrics) if m.newest else ""),
        ("CHANGED", lambda m: m.changed_at),
        ("BY", lambda m: m.newest.created_by if m.newest else m.created_by),
    ]
    mill.out.items(
        calls.list_models(mill.api, mill.project, search=search, deleted=deleted),
        columns,
        empty="No models match."
        if search or deleted
        else "No models yet. Register one: mill model register NAME --from RUN:PATH",
        drop=["METRICS", "BY", "VERSIONS"],
    )


@command(app, "show")
def show(mill: Session, model: Version) -> None:
    """Show a model, or one version of it: MODEL@3, MODEL@champion.

    Example: mill model show chest-xray@champion
    """
    name, version = split_written(model)
    if "@" in model:
        _show_version(mill, calls.get_version(mill.api, mill.project, name, version))
        return
    found = calls.get_model(mill.api, mill.project, name)
    newest = found.newest
    mill.out.shape(
        found,
        [
            ("model", f"{found.project}/{found.name}"),
            ("description", found.description or None),
            ("versions", found.versions),
            ("newest", newest.version if newest else None),
            ("aliases", _aliases(found.aliases) or None),
            *((f"tag {key}", value) for key, value in sorted(found.tags.items())),
            *((f"metric {key}", value) for key, value in sorted(newest.metrics.items() if newest else ())),
            ("created", found.created_at),
            ("by", found.created_by),
            ("files", f"{found.dataset}@{newest.version}" if newest else None),
        ],
    )


@command(app, "versions")
def versions(
    mill: Session,
    model: ModelName,
    deleted: Annotated[bool, typer.Option("--deleted", help="List versions in the bin.")] = False,
) -> None:
    """List the versions of a model, newest first.

    Example: mill model versions chest-xray
    """
    columns: list[Column[ModelVersion]] = [
        ("VERSION", lambda v: v.version),
        ("ALIASES", lambda v: " ".join(v.aliases)),
        ("STAGE", lambda v: v.stage.value),
        ("METRICS", lambda v: _metrics(v.metrics)),
        ("RUN", lambda v: v.run),
        ("SIZE", lambda v: Bytes(v.bytes)),
        ("CREATED", lambda v: v.created_at),
        ("BY", lambda v: v.created_by),
        ("DESCRIPTION", lambda v: v.description),
    ]
    mill.out.items(
        calls.list_versions(mill.api, mill.project, model, deleted=deleted),
        columns,
        empty=f"Model {model} has no versions{' in the bin' if deleted else ' yet'}.",
        drop=["DESCRIPTION", "BY", "SIZE", "METRICS"],
    )


@command(app, "register")
def register(
    mill: Session,
    name: Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model; created if there is none.")],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="./FOLDER, RUN:PATH, DATASET@REF:PATH, .outputs@JOB:PATH or models:/MODEL/3.",
        ),
    ],
    alias: Annotated[list[str] | None, typer.Option(help="Alias that points to the new version.")] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="Description of the version.")] = "",
    tag: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Tag of the version.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="KEY=NUMBER", help="Metric of the version, instead of the run's.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Id of the run that made the files of a folder.")] = None,
) -> None:
    """Register the next version of a model. Files that are in the lake already are not sent again.

    Example: mill model register chest-xray --from 3fa2c1d0:model --alias candidate
    """
    with Meter(mill.out, f"Registering {name}") as meter:
        made = calls.register_version(
            mill.api, mill.project, name, source, description=message, tags=split_tags(tag or ()), aliases=alias or (),
            metrics=_numbers(metric) if metric else None, run=run, progress=tell(meter),
        )  # fmt: skip
    if mill.out.as_json:
        mill.out.json(made.model_dump(mode="json"))
        return
    named = f", {' '.join(made.aliases)}" if made.aliases else ""
    size = f"{format_count(made.files, 'file')}, {format_bytes(made.bytes)}"
    mill.out.note(f"Registered {made.model}@{made.version} ({size}{named}).")


@command(app, "compare")
def compare(
    mill: Session,
    model: ModelName,
    before: Annotated[str, typer.Argument(metavar="VERSION", help="Number or alias.")],
    after: Annotated[str, typer.Argument(metavar="VERSION", help="Number or alias.")] = "latest",
    everything: Annotated[bool, typer.Option("--all", help="Show values that do not differ, too.")] = False,
) -> None:
    """Compare two versions: metrics, parameters, tags, signature, files; only what differs.

    Example: mill model compare chest-xray champion candidate
    """
    found = calls.compare_versions(mill.api, mill.project, model, before, after)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    columns: list[Column[tuple[str, Any, Any]]] = [
        ("VALUE", lambda row: row[0]),
        (f"{model}@{found.before.version}", lambda row: row[1]),
        (f"{model}@{found.after.version}", lambda row: row[2]),
    ]
    mill.out.items(list(_rows(found, everything)), columns, empty="These versions do not differ.")


@command(app, "download")
def download(
    mill: Session,
    model: Version,
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write to (default: the model's name).")] = None,
    path: Annotated[str, typer.Option("--path", help="Only this file or folder of the version.")] = "",
) -> None:
    """Download the files of a version, straight from the lake; the newest version without @.

    Example: mill model download chest-xray@champion --to model
    """
    name, version = split_written(model)
    found = calls.get_version(mill.api, mill.project, name, version)
    target = to or Path(name)
    with Meter(mill.out, f"Downloading {name}@{found.version}") as meter:
        calls.download_version(mill.api, found, target, path=path, progress=tell(meter))
    if mill.out.as_json:
        mill.out.json({**found.model_dump(mode="json"), "folder": str(target)})
    else:
        mill.out.note(f"Downloaded {name}@{found.version} to {target}.")


def _show_version(mill: Session, found: ModelVersion) -> None:
    mill.out.shape(
        found,
        [
            ("model", f"{found.project}/{found.model}@{found.version}"),
            ("state", found.state.value),
            ("stage", found.stage.value),
            ("aliases", found.aliases),
            ("description", found.description or None),
            ("source", found.source),
            ("run", found.run),
            ("job", found.job),
            ("step", found.step),
            ("code", found.code),
            ("inputs", found.inputs),
            ("flavors", found.flavors),
            *check_rows(found.check),
            *((f"tag {key}", value) for key, value in sorted(found.tags.items())),
            *((f"metric {key}", value) for key, value in sorted(found.metrics.items())),
            *((f"param {key}", value) for key, value in sorted(found.params.items())),
            *((key, value) for key, value in found.signature_columns.items()),
            ("files", f"{format_count(found.files, 'file')}, {format_bytes(found.bytes)}"),
            ("dataset", f"{found.dataset}@{found.version}"),
            ("commit", found.commit),
            ("created", found.created_at),
            ("by", found.created_by),
        ],
    )


def _rows(found: ModelComparison, everything: bool) -> list[tuple[str, Any, Any]]:
    kinds: list[tuple[str, list[ValueDifference]]] = [
        ("metric", found.metrics),
        ("param", found.params),
        ("tag", found.tags),
        ("signature", found.signature),
    ]
    rows = [
        (f"{kind} {one.key}", one.before, one.after)
        for kind, values in kinds
        for one in values
        if one.differs or everything
    ]
    rows += [(f"file {one.path}", one.size_before, f"{one.change} {one.size_after or ''}") for one in found.files.items]
    return rows


def _numbers(written: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in written:
        key, _, value = text.partition("=")
        try:
            found[key] = float(value)
        except ValueError as error:
            raise BadRequest(f"{text!r} is not a metric.", hint="Write KEY=NUMBER.") from error
    return found


def _aliases(aliases: dict[str, int]) -> str:
    return " ".join(f"{alias}→{version}" for alias, version in sorted(aliases.items()))


def _metrics(metrics: dict[str, float]) -> str:
    return " ".join(f"{key}={value:.4g}" for key, value in sorted(metrics.items())[:4])
