"""Versions of models: found by number or alias, listed, described, moved to a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import models
from millpond.decide.models import version_number
from millpond.errors import NotFound
from millpond.model.model import LATEST, Model, ModelStage, ModelVersion, ModelVersionView
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.listing import Listing, number_of, page_of
from millpond.services.models.models import find, publish, record, version_views
from millpond.services.people import access
from millpond.services.runs.run_checks import check_notes, check_tags


@dataclass(frozen=True, slots=True)
class VersionEdit:
    """What somebody changes about a version; None leaves a field as it is. A tag of None is removed."""

    description: str | None = None
    stage: ModelStage | None = None
    # Move all other versions that are in this stage to Archived.
    archive_others: bool = False
    tags: Mapping[str, str | None] = field(default_factory=dict)


def get(deps: Deps, project: Project, name: str, version: str, *, deleted: bool = False) -> ModelVersionView:
    """A version by its number, an alias or `latest`; NotFound names the aliases that come near."""
    with deps.db.read() as tx:
        model = find(tx, project, name)
        found = resolve(tx, model, version, deleted=deleted)
        return version_views(tx, {model.dataset.id: model}, [found])[0]


def resolve(tx: Connection, model: Model, version: str, *, deleted: bool = False) -> ModelVersion:
    dataset_id = model.dataset.id
    number = version_number(version)
    aliases = models.aliases(tx, [dataset_id]).get(dataset_id, {}) if number is None else {}
    if version.lower() == LATEST:
        found = models.newest(tx, [dataset_id]).get(dataset_id)
    else:
        wanted = number if number is not None else aliases.get(version)
        found = models.version(tx, dataset_id, wanted, deleted=deleted) if wanted is not None else None
    if found is None:
        raise _no_version(tx, model, version, aliases)
    return found


def list_versions(
    deps: Deps, project: Project, name: str, *, deleted: bool = False, limit: int, cursor: str | None
) -> Listing[ModelVersionView]:
    """Newest first."""
    with deps.db.read() as tx:
        model = find(tx, project, name)
        ids, below = [model.dataset.id], number_of(cursor)
        found = models.versions(tx, ids, deleted=deleted, below=below, limit=limit + 1)
        shown = version_views(tx, {model.dataset.id: model}, found)
    return page_of(shown, limit, key=lambda item: item.version.number)


def all_of(deps: Deps, project: Project, names: Sequence[str] | None = None) -> Sequence[ModelVersionView]:
    """Versions of all models of a project, or of these; newest first in each model."""
    with deps.db.read() as tx:
        of = {one.dataset.id: one for one in models.page(tx, among=[project.id]) if names is None or one.name in names}
        return version_views(tx, of, models.versions(tx, list(of)))


def of_run(deps: Deps, actor: Actor, project: Project, run_id: str) -> Sequence[ModelVersionView]:
    """Versions that were registered from a run, newest first."""
    with deps.db.read() as tx:
        found = models.of_run(tx, project.id, run_id)
        of = {one.dataset_id: models.get(tx, one.dataset_id) for one in found}
        return version_views(tx, {key: model for key, model in of.items() if model}, found)


def edit(deps: Deps, actor: Actor, project: Project, name: str, version: str, asked: VersionEdit) -> ModelVersionView:
    """Describe it anew, move it to a stage, set tags."""
    access.require(actor, project, Role.MEMBER)
    check_notes(asked.description or "")
    check_tags(asked.tags)
    now = deps.clock.now()
    with deps.db.write() as tx:
        model = models.lock(tx, find(tx, project, name).dataset.id)
        if model is None:
            raise access.not_found("model", name)
        before = resolve(tx, model, version)
        kept = {key: text for key, text in {**before.tags, **asked.tags}.items() if text is not None}
        stage = asked.stage or before.stage
        description = before.description if asked.description is None else asked.description
        values = {"description": description, "stage": stage.value, "tags": kept, "changed_at": now}
        models.change_version(tx, before.dataset_id, before.number, **values)
        if asked.stage is not None:  # which version is in use is news about the model; a note on one is not
            models.change(tx, before.dataset_id, changed_at=now)
        if asked.stage is not None and asked.archive_others:
            models.archive_others(tx, before, asked.stage, now)
        details: dict[str, Any] = {"stage": stage.value} if asked.stage else {}
        was = {"stage": before.stage, "tags": before.tags, "description": before.description}
        is_now = {"stage": stage, "tags": kept, "description": description}
        record(tx, deps, actor, "model.edit", model.dataset, version=before.number, before=was, after=is_now, **details)
    publish(deps, model.dataset, "version", version=before.number)
    return get(deps, project, name, str(before.number))


def _no_version(tx: Connection, model: Model, version: str, aliases: Mapping[str, int]) -> NotFound:
    known = [str(one.number) for one in models.versions(tx, [model.dataset.id], limit=1000)]
    if not known and version.lower() == LATEST:
        return NotFound(
            f"Model {model.written} has no versions yet.",
            hint=f"Register one: mill model register {model.name} --from …", noun="version", name=version,
        )  # fmt: skip
    found = access.not_found("version", version, [*aliases, *known])
    listed = f"List them: mill model versions {model.name}"
    return NotFound(
        f"Model {model.written} has no version {version!r}.", hint=found.hint or listed, noun="version", name=version,
        near=found.details.get("near", []),
    )  # fmt: skip
