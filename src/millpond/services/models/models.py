"""Models: created, found, listed, described, renamed. Each is a dataset of its own, whose tags are the versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, datasets, models
from millpond.decide.models import facts_of
from millpond.errors import BadRequest, NameTaken
from millpond.model.dataset import Dataset, DatasetKind
from millpond.model.model import Model, ModelVersion, ModelVersionView, ModelView
from millpond.model.names import check_model_name, model_dataset
from millpond.model.people import Actor, Project, Role
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.listing import Listing, decode, page_of
from millpond.services.people import access, audit
from millpond.services.runs.run_checks import check_notes, check_tags

TOPIC = "models"


def create(
    deps: Deps, actor: Actor, project: Project, name: str, *, description: str = "",
    tags: Mapping[str, str] | None = None,
) -> ModelView:  # fmt: skip
    """A model without versions. NameTaken if the project has one of that name."""
    access.require(actor, project, Role.MEMBER)
    check_model_name(name)
    check_tags(tags or {})
    check_notes(description)
    now = deps.clock.now()

    def note(tx: Connection, dataset: Dataset) -> None:
        models.insert(tx, dataset.id, tags=tags or {}, now=now)
        record(tx, deps, actor, "model.create", dataset)

    try:
        made = dataset_service.create_of_kind(
            deps, actor, project, model_dataset(name), DatasetKind.MODEL, description, note
        )
    except NameTaken as error:
        raise NameTaken(
            f"Project {project.name} already has a model {name!r}.", hint="Choose another name.", name=name
        ) from error
    publish(deps, made, "created")
    return get(deps, project, name)


def ensure(deps: Deps, actor: Actor, project: Project, name: str) -> Model:
    """The model of that name, made if there is none."""
    with deps.db.read() as tx:
        found = models.find(tx, project.id, check_model_name(name))
    if found is not None:
        return found
    try:
        return create(deps, actor, project, name).model
    except NameTaken:  # somebody else needed it first
        with deps.db.read() as tx:
            return find(tx, project, name)


def find(tx: Connection, project: Project, name: str) -> Model:
    """The model of that name in a project the caller is known to see; NotFound with the nearest names."""
    found = models.find(tx, project.id, name)
    if found is None:
        raise access.not_found("model", name, models.names(tx, project.id))
    return found


def get(deps: Deps, project: Project, name: str) -> ModelView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, project, name)])[0]


def list_models(
    deps: Deps, actor: Actor, *, project: str | None = None, search: str = "", deleted: bool = False, limit: int,
    cursor: str | None,
) -> Listing[ModelView]:  # fmt: skip
    """Models of all projects the actor sees, or of one, by project and name."""
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if project is not None:
            among = {access.find_project(tx, actor, project).id}
        found = models.page(tx, among=among, search=search, deleted=deleted, after=_place(cursor), limit=limit + 1)
        shown = views(tx, found)
    return page_of(shown, limit, key=lambda item: [item.model.dataset.project, item.model.name])


def all_of(deps: Deps, project: Project) -> Sequence[ModelView]:
    """All models of a project, by name."""
    with deps.db.read() as tx:
        return views(tx, models.page(tx, among=[project.id]))


def change(
    deps: Deps, actor: Actor, project: Project, name: str, *, new_name: str | None = None,
    description: str | None = None, tags: Mapping[str, str | None] | None = None,
) -> ModelView:  # fmt: skip
    """Rename it, describe it anew, set tags (None removes one). What is None stays as it is."""
    access.require(actor, project, Role.MEMBER)
    check_tags(tags or {})
    check_notes(description or "")
    with deps.db.read() as tx:
        found = find(tx, project, name)
    if new_name is not None and new_name != name:
        _rename(deps, actor, project, found, check_model_name(new_name))
    if description is not None or tags:
        with deps.db.write() as tx:
            _edit(tx, deps, actor, found.dataset, description, tags or {})
    publish(deps, found.dataset, "changed")
    return get(deps, project, new_name or name)


def views(tx: Connection, found: Sequence[Model]) -> list[ModelView]:
    ids = [one.dataset.id for one in found]
    newest, counts, named = models.newest(tx, ids), models.counts(tx, ids), models.aliases(tx, ids)
    of = {one.dataset.id: one for one in found}
    shown = {view.version.dataset_id: view for view in version_views(tx, of, list(newest.values()))}
    return [
        ModelView(
            model=one,
            aliases=named.get(one.dataset.id, {}),
            versions=counts.get(one.dataset.id, 0),
            newest=shown.get(one.dataset.id),
        )
        for one in found
    ]


def version_views(
    tx: Connection, of: Mapping[str, Model], found: Sequence[ModelVersion]
) -> list[ModelVersionView]:  # fmt: skip
    """Versions of these models (by dataset id) with their commits and aliases."""
    known = {commit.id: commit for commit in commits.get_many(tx, {one.commit_id for one in found})}
    aliases = models.aliases(tx, {one.dataset_id for one in found})
    return [
        ModelVersionView(
            project=of[one.dataset_id].dataset.project,
            model=of[one.dataset_id].name,
            version=one,
            commit=known[one.commit_id],
            facts=facts_of(known[one.commit_id]),
            aliases=tuple(name for name, at in aliases.get(one.dataset_id, {}).items() if at == one.number),
        )
        for one in found
    ]


def publish(deps: Deps, dataset: Dataset, what: str, **more: object) -> None:
    name = dataset.name.removeprefix(model_dataset(""))
    data = {"project": dataset.project, "id": dataset.id, "what": what, "model": name, **more}
    deps.events.publish(TOPIC, project_id=dataset.project_id, data=data)


def record(
    tx: Connection, deps: Deps, actor: Actor, action: str, dataset: Dataset, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None, **details: object,
) -> None:  # fmt: skip
    """Note what was done to a model, or to the version that `details` name."""
    name = dataset.name.removeprefix(model_dataset(""))
    version = f"@{details['version']}" if "version" in details else ""
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{dataset.project}/{name}{version}",
        project_id=dataset.project_id, details=details, before=before, after=after,
    )  # fmt: skip


def _rename(deps: Deps, actor: Actor, project: Project, found: Model, name: str) -> None:
    def note(tx: Connection, dataset: Dataset) -> None:
        models.change(tx, dataset.id, changed_at=deps.clock.now())
        was = found.dataset.name.removeprefix(model_dataset(""))
        record(tx, deps, actor, "model.rename", dataset, before={"name": was}, after={"name": name})

    try:
        dataset_service.rename(deps, actor, found.dataset, model_dataset(name), note)
    except NameTaken as error:
        raise NameTaken(
            f"Project {project.name} already has a model {name!r}.", hint="Choose another name.", name=name
        ) from error


def _edit(
    tx: Connection, deps: Deps, actor: Actor, dataset: Dataset, description: str | None, tags: Mapping[str, str | None]
) -> None:
    current = models.lock(tx, dataset.id)
    if current is None:
        raise access.not_found("model", dataset.name.removeprefix(model_dataset("")))
    after = {key: text for key, text in {**current.tags, **tags}.items() if text is not None}
    models.change(tx, dataset.id, tags=after, changed_at=deps.clock.now())
    if description is not None:
        datasets.change(tx, dataset.id, description=description)
    was = {"tags": current.tags, "description": dataset.description}
    is_now = {"tags": after, "description": dataset.description if description is None else description}
    record(tx, deps, actor, "model.change", dataset, before=was, after=is_now)


def _place(cursor: str | None) -> tuple[str, str]:
    match decode(cursor) if cursor else ["", ""]:
        case [str(project), str(name)]:
            return project, name
        case _:
            raise BadRequest(f"{cursor!r} is not a cursor of this list.")
