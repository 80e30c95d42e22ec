"""Files of a version, for those who know the model by its id: names may change while somebody downloads."""

from __future__ import annotations

from millpond.db import models
from millpond.errors import NotFound
from millpond.model.artifact import ArtifactEntry
from millpond.model.dataset import Commit, Dataset
from millpond.model.model import ModelVersionView
from millpond.model.people import Actor, Project
from millpond.services.datasets import files, reading
from millpond.services.deps import Deps
from millpond.services.listing import Listing
from millpond.services.models import job_reads
from millpond.services.models.models import version_views
from millpond.services.people import access


def find(deps: Deps, project: Project, model_id: str, number: int) -> ModelVersionView:
    """NotFound also for one in the bin, or of another project."""
    return _find(deps, project, model_id, number)[1]


def list_folder(
    deps: Deps, project: Project, model_id: str, number: int, *, path: str = "", limit: int, cursor: str | None
) -> Listing[ArtifactEntry]:
    """One folder by name; nothing for one that is not there."""
    try:
        part = reading.entries(deps, *_place(deps, project, model_id, number), path=path, limit=limit, cursor=cursor)
    except NotFound:
        return Listing([], None)
    items = [ArtifactEntry(entry.name, entry.kind == "directory", entry.size) for entry in part.items]
    return Listing(items, part.next)


def paths(deps: Deps, project: Project, view: ModelVersionView) -> list[str]:
    """Files at the top of a version, and in its numbered folders."""
    place = (view.version.dataset_id, view.version.number)
    found: list[str] = []
    for entry in list_folder(deps, project, *place, limit=1000, cursor=None).items:
        if not entry.is_folder:
            found.append(entry.name)
        elif entry.name.isdecimal():
            below = list_folder(deps, project, *place, path=entry.name, limit=1000, cursor=None)
            found += [f"{entry.name}/{one.name}" for one in below.items]
    return found


def open_file(
    deps: Deps, actor: Actor, project: Project, model_id: str, number: int, path: str
) -> files.OpenFile:  # fmt: skip
    dataset, commit = _place(deps, project, model_id, number)
    job_reads.note(deps, actor, commit.id)
    return files.open_file(deps, dataset, commit, path)


def _place(deps: Deps, project: Project, model_id: str, number: int) -> tuple[Dataset, Commit]:
    dataset, view = _find(deps, project, model_id, number)
    return dataset, view.commit


def _find(deps: Deps, project: Project, model_id: str, number: int) -> tuple[Dataset, ModelVersionView]:
    with deps.db.read() as tx:
        model = models.get(tx, model_id)
        if model is None or model.deleted_at is not None or model.dataset.project_id != project.id:
            raise access.not_found("model", model_id)
        version = models.version(tx, model_id, number)
        if version is None:
            raise access.not_found("version", f"{model.name}@{number}")
        return model.dataset, version_views(tx, {model_id: model}, [version])[0]
