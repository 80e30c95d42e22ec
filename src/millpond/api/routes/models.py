"""Models: versions registered from runs, commits and uploads; aliases, stages, comparison."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, InProject, Member, Scope, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import flows as flow_shapes
from millpond.api.shapes import models as shapes
from millpond.model.people import Role
from millpond.services.flows import views as flow_views
from millpond.services.models import aliases, batch, bin, checks, comparison, models, registration, versions
from millpond.wire import models as wire
from millpond.wire.base import Page
from millpond.wire.flows import FlowRun

router = APIRouter(tags=["models"])

_MODELS = "/projects/{project}/models"
_MODEL = f"{_MODELS}/{{model}}"
_VERSION = f"{_MODEL}/versions/{{version}}"

# A job registers from its own runs, and reads the models of its project.
ViewerOrJob = Annotated[Scope, InProject(Role.VIEWER, placements=True)]
MemberOrJob = Annotated[Scope, InProject(Role.MEMBER, placements=True)]
Search = Annotated[str, Query(max_length=200, description="Part of the name.")]
Deleted = Annotated[bool, Query(description="Those in the bin instead.")]


@router.get("/models")
def list_all_models(
    actor: SignedIn,
    deps: DepsOf,
    project: Annotated[str | None, Query(description="Only those of this project.")] = None,
    search: Search = "",
    deleted: Deleted = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Model]:
    """Models of all projects one may see, by project and name."""
    found = models.list_models(deps, actor, project=project, search=search, deleted=deleted, limit=limit, cursor=cursor)
    return page(found, shapes.model)


@router.get(_MODELS)
def list_models(
    scope: ViewerOrJob,
    deps: DepsOf,
    search: Search = "",
    deleted: Deleted = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Model]:
    """Models of a project, by name."""
    found = models.list_models(
        deps, scope.actor, project=scope.project.name, search=search, deleted=deleted, limit=limit, cursor=cursor
    )
    return page(found, shapes.model)


@router.post(_MODELS, status_code=201)
def create_model(body: wire.ModelCreate, scope: MemberOrJob, deps: DepsOf) -> wire.Model:
    """A model without versions; registering a version creates its model, too."""
    made = models.create(deps, scope.actor, scope.project, body.name, description=body.description, tags=body.tags)
    return shapes.model(made)


@router.get(_MODEL)
def get_model(model: str, scope: ViewerOrJob, deps: DepsOf) -> wire.Model:
    return shapes.model(models.get(deps, scope.project, model))


@router.patch(_MODEL)
def change_model(model: str, body: wire.ModelChange, scope: Member, deps: DepsOf) -> wire.Model:
    """Rename it, describe it anew, set or remove tags."""
    changed = models.change(
        deps, scope.actor, scope.project, model, new_name=body.name, description=body.description, tags=body.tags
    )
    return shapes.model(changed)


@router.delete(_MODEL, status_code=204)
def delete_model(model: str, scope: Member, deps: DepsOf) -> None:
    """Into the bin, with all versions. Refused while jobs that have not ended use it; the answer says which."""
    bin.delete_model(deps, scope.actor, scope.project, model)


@router.post(f"{_MODEL}/undelete")
def undelete_model(model: str, scope: Member, deps: DepsOf) -> wire.Model:
    """Back from the bin: the one of that name that was deleted last."""
    return shapes.model(bin.undelete_model(deps, scope.actor, scope.project, model))


@router.get(f"{_MODEL}/compare")
def compare_versions(model: str, before: str, after: str, scope: Viewer, deps: DepsOf) -> wire.ModelComparison:
    """Two versions (numbers or aliases) side by side: metrics, parameters, tags, signature, files."""
    return shapes.comparison(comparison.compare(deps, scope.project, model, before, after))


@router.get(f"{_MODEL}/versions")
def list_model_versions(
    model: str,
    scope: ViewerOrJob,
    deps: DepsOf,
    deleted: Deleted = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.ModelVersion]:
    """Newest first."""
    found = versions.list_versions(deps, scope.project, model, deleted=deleted, limit=limit, cursor=cursor)
    return page(found, shapes.version)


@router.post(f"{_MODEL}/versions", status_code=201)
def register_model_version(
    model: str, body: wire.ModelVersionCreate, scope: MemberOrJob, deps: DepsOf
) -> wire.ModelVersion:
    """The next version, durable when this returns. The model is created if there is none of that name."""
    made = registration.register(deps, scope.actor, scope.project, shapes.new_version(model, body))
    return shapes.version(made)


@router.get(_VERSION)
def get_model_version(model: str, version: str, scope: ViewerOrJob, deps: DepsOf) -> wire.ModelVersion:
    """A version by its number, an alias, or `latest`."""
    return shapes.version(versions.get(deps, scope.project, model, version))


@router.patch(_VERSION)
def change_model_version(
    model: str, version: str, body: wire.ModelVersionChange, scope: MemberOrJob, deps: DepsOf
) -> wire.ModelVersion:
    """Describe it anew, move it to a stage, set or remove tags."""
    return shapes.version(versions.edit(deps, scope.actor, scope.project, model, version, shapes.edit(body)))


@router.post(f"{_VERSION}/check", status_code=202)
def check_model_version(
    model: str, version: str, body: wire.ModelCheckStart, scope: Member, deps: DepsOf
) -> wire.ModelVersion:  # fmt: skip
    """Load and run the version in a job; `check` of the version tells when it has ended and what was found out."""
    asked = checks.CheckOptions(on=body.on, builds_environment=body.environment)
    return shapes.version(checks.start(deps, scope.actor, scope.project, model, version, asked))


@router.post(f"{_VERSION}/batch", status_code=201)
def start_batch_prediction(
    model: str, version: str, body: wire.BatchPrediction, scope: Member, deps: DepsOf
) -> FlowRun:  # fmt: skip
    """Predict a dataset with a version, as a run of a flow; the predictions are committed when all are there."""
    run = batch.start(deps, scope.actor, scope.project, model, version, shapes.batch(body))
    return flow_shapes.run(flow_views.get(deps, scope.project, run.id))


@router.delete(_VERSION, status_code=204)
def delete_model_version(model: str, version: str, scope: Member, deps: DepsOf) -> None:
    """Into the bin. Aliases that point to it are removed."""
    bin.delete_version(deps, scope.actor, scope.project, model, version)


@router.post(f"{_VERSION}/undelete")
def undelete_model_version(model: str, version: str, scope: Member, deps: DepsOf) -> wire.ModelVersion:
    """Back from the bin, without its aliases."""
    return shapes.version(bin.undelete_version(deps, scope.actor, scope.project, model, version))


@router.get(f"{_MODEL}/aliases/{{alias}}")
def get_model_alias(model: str, alias: str, scope: ViewerOrJob, deps: DepsOf) -> wire.ModelVersion:
    """The version that an alias points to."""
    return shapes.version(versions.get(deps, scope.project, model, alias))


@router.put(f"{_MODEL}/aliases/{{alias}}")
def set_model_alias(
    model: str, alias: str, body: wire.AliasPoint, scope: MemberOrJob, deps: DepsOf
) -> wire.ModelVersion:
    """Let an alias point to a version, wherever it pointed before."""
    return shapes.version(aliases.point(deps, scope.actor, scope.project, model, alias, body.version))


@router.delete(f"{_MODEL}/aliases/{{alias}}", status_code=204)
def delete_model_alias(model: str, alias: str, scope: MemberOrJob, deps: DepsOf) -> None:
    aliases.remove(deps, scope.actor, scope.project, model, alias)


@router.get("/projects/{project}/runs/{run}/models")
def list_models_of_run(run: str, scope: Viewer, deps: DepsOf) -> Page[wire.ModelVersion]:
    """Versions that were registered from a run, newest first."""
    found = versions.of_run(deps, scope.actor, scope.project, run)
    return Page(items=[shapes.version(view) for view in found])
