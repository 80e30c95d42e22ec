"""`mill model alias|stage|tag|describe|rename|delete|undelete`: what changes models and versions."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.model_arguments import ModelName, Version, split_tags
from millpond.cli.session import Session
from millpond.client import models as calls
from millpond.errors import BadRequest
from millpond.model.model import ModelStage, split_written
from millpond.model.quantity import format_count
from millpond.wire.models import Model, ModelChange, ModelVersion, ModelVersionChange

app = typer.Typer()


@command(app, "alias")
def alias(
    mill: Session,
    model: Version,
    name: Annotated[str, typer.Argument(metavar="ALIAS", help="Alias, like champion.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the alias.")] = False,
) -> None:
    """Point an alias to a version (the newest without @), or remove it.

    Example: mill model alias chest-xray@3 champion
    """
    model_name, version = split_written(model)
    if remove:
        calls.remove_alias(mill.api, mill.project, model_name, name)
        _said(mill, calls.get_model(mill.api, mill.project, model_name), f"Alias {name} of {model_name} removed.")
        return
    found = calls.set_alias(mill.api, mill.project, model_name, name, version)
    _said(mill, found, f"{model_name}@{name} is version {found.version} now.")


@command(app, "stage")
def stage(
    mill: Session,
    model: Version,
    to: Annotated[ModelStage, typer.Argument(metavar="STAGE", help="None, Staging, Production or Archived.")],
    archive: Annotated[
        bool, typer.Option("--archive-others", help="Move other versions in that stage to Archived.")
    ] = False,
) -> None:
    """Move a version to a stage.

    Example: mill model stage chest-xray@3 Production --archive-others
    """
    found = _change(mill, model, ModelVersionChange(stage=to, archive_others=archive))
    _said(mill, found, f"{found.model}@{found.version} is in stage {found.stage.value} now.")


@command(app, "tag")
def tag(
    mill: Session,
    model: Version,
    tags: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Tags to set; KEY= removes one.")],
) -> None:
    """Set or remove tags of a version, or (without @) of the model itself.

    Example: mill model tag chest-xray@3 reviewed=yes
    """
    change: dict[str, str | None] = {key: value or None for key, value in split_tags(tags).items()}
    found: Model | ModelVersion
    if "@" in model:
        found = _change(mill, model, ModelVersionChange(tags=change))
    else:
        found = calls.change_model(mill.api, mill.project, model, ModelChange(tags=change))
    kept = " ".join(f"{key}={value}" for key, value in sorted(found.tags.items())) or "none"
    _said(mill, found, f"Tags of {model}: {kept}.")


@command(app, "describe")
def describe(
    mill: Session, model: Version, text: Annotated[str, typer.Argument(help="The description, as Markdown.")]
) -> None:
    """Describe a version, or (without @) the model itself.

    Example: mill model describe chest-xray@3 "Trained without the images of 2019."
    """
    found: Model | ModelVersion
    if "@" in model:
        found = _change(mill, model, ModelVersionChange(description=text))
    else:
        found = calls.change_model(mill.api, mill.project, model, ModelChange(description=text))
    _said(mill, found, f"Description of {model} saved.")


@command(app, "rename")
def rename(
    mill: Session, model: ModelName, to: Annotated[str, typer.Argument(metavar="NEW_NAME", help="The new name.")]
) -> None:
    """Rename a model; versions and aliases stay.

    Example: mill model rename chest-xray chest
    """
    found = calls.change_model(mill.api, mill.project, model, ModelChange(name=to))
    _said(mill, found, f"Model {model} is {found.name} now.")


@command(app, "delete")
def delete(
    mill: Session,
    model: Version,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Move a model, or one version (MODEL@3), to the bin. Aliases of a version are removed.

    Example: mill model delete chest-xray@2 --yes
    """
    name, version = split_written(model)
    if "@" not in model:
        found = calls.get_model(mill.api, mill.project, name)
        mill.confirm(f"Delete model {name} with its {format_count(found.versions, 'version')}?", yes=yes)
        calls.delete_model(mill.api, mill.project, name)
        _said(mill, None, f"Model {name} deleted. Restore it with: mill model undelete {name}")
        return
    one = calls.get_version(mill.api, mill.project, name, version)
    named = f" ({', '.join(one.aliases)})" if one.aliases else ""
    mill.confirm(f"Delete {name}@{one.version}{named}?", yes=yes)
    calls.delete_version(mill.api, mill.project, name, str(one.version))
    restore = f"mill model undelete {name}@{one.version}"
    _said(mill, None, f"{name}@{one.version} deleted. Restore it with: {restore}")


@command(app, "undelete")
def undelete(mill: Session, model: Version) -> None:
    """Restore a model, or one version (MODEL@3), from the bin.

    Example: mill model undelete chest-xray@2
    """
    name, version = split_written(model)
    if "@" in model:
        _said(mill, calls.undelete_version(mill.api, mill.project, name, version), f"{model} restored.")
    else:
        _said(mill, calls.undelete_model(mill.api, mill.project, name), f"Model {name} restored.")


def _change(mill: Session, model: str, change: ModelVersionChange) -> ModelVersion:
    name, version = split_written(model)
    if "@" not in model:
        raise BadRequest(f"{model!r} names no version.", hint=f"Write {model}@3, {model}@ALIAS or {model}@latest.")
    return calls.change_version(mill.api, mill.project, name, version, change)


def _said(mill: Session, found: Model | ModelVersion | None, words: str) -> None:
    if not mill.out.as_json:
        mill.out.note(words)
    elif found is not None:
        mill.out.json(found.model_dump(mode="json"))
