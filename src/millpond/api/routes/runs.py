"""Runs: made by scripts, fed by batches; their metrics and artifacts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from millpond.api.access import DepsOf, InProject, Member, Scope, SignedIn, Viewer
from millpond.api.file_answers import Part, answer_file
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import jobs as shapes
from millpond.model.people import Role
from millpond.services.runs import artifact_staging, artifacts, runs, series
from millpond.wire import runs as wire
from millpond.wire.base import Page

router = APIRouter(tags=["runs"])

_RUN = "/projects/{project}/runs/{run}"

ViewerOrJob = Annotated[Scope, InProject(Role.VIEWER, placements=True)]
MemberOrJob = Annotated[Scope, InProject(Role.MEMBER, placements=True)]


@router.get("/runs")
def list_runs(
    actor: SignedIn,
    deps: DepsOf,
    project: str | None = None,
    experiment: str | None = None,
    deleted: bool = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Run]:
    """Of all projects one may see, newest first."""
    listing = runs.list_runs(
        deps, actor, project=project, experiment=experiment, deleted=deleted, limit=limit, cursor=cursor
    )
    return page(listing, shapes.run)


@router.post("/projects/{project}/runs", status_code=201)
def create_run(body: wire.RunCreate, scope: Member, deps: DepsOf) -> wire.Run:
    """Creating one with the same id again is the same run."""
    return shapes.run(runs.create(deps, scope.actor, scope.project, body))


@router.get(_RUN)
def get_run(run: str, scope: ViewerOrJob, deps: DepsOf) -> wire.Run:
    return shapes.run(runs.get(deps, scope.actor, scope.project, run))


@router.post(f"{_RUN}/batch", status_code=204)
def add_batch(run: str, body: wire.RunBatch, scope: MemberOrJob, deps: DepsOf) -> None:
    """What a client reports at once; a batch sent twice counts once."""
    runs.take_batch(deps, scope.actor, scope.project, run, body)


@router.get(f"{_RUN}/metrics")
def get_metrics(
    run: str,
    scope: Viewer,
    deps: DepsOf,
    key: Annotated[str | None, Query(max_length=250)] = None,
    limit: Annotated[int, Query(ge=4, le=100_000, description="Maximum number of points per series.")] = 1000,
) -> wire.SeriesList:
    """One metric, or all of them without `key`."""
    found = series.metric_series(deps, scope.actor, scope.project, run, key=key, limit=limit)
    return wire.SeriesList(items=[shapes.series(item) for item in found])


@router.get(f"{_RUN}/artifacts")
def list_artifacts(
    run: str,
    scope: ViewerOrJob,
    deps: DepsOf,
    path: Annotated[str, Query(max_length=1000, description="Only files below this folder.")] = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Artifact]:
    """All files, by path. They are the commit of `.artifacts` that the run's id names: its routes show folders."""
    found = artifacts.list_artifacts(deps, scope.actor, scope.project, run, path=path, limit=limit, cursor=cursor)
    return page(found, wire.Artifact.model_validate)


@router.post(f"{_RUN}/artifacts", status_code=204)
def log_artifacts(run: str, body: wire.ArtifactsLogged, scope: MemberOrJob, deps: DepsOf) -> None:
    """Files whose content was sent in packs of an upload; listed and readable once this is answered."""
    artifact_staging.stage(deps, scope.actor, scope.project, run, body)


@router.put(f"{_RUN}/artifacts/{{path:path}}", status_code=201)
async def put_artifact(run: str, path: str, request: Request, scope: MemberOrJob, deps: DepsOf) -> wire.Artifact:
    """Bytes through the server, at most 64 MiB."""
    content = await request.body()
    stored = await run_in_threadpool(artifacts.put, deps, scope.actor, scope.project, run, path, content)
    return wire.Artifact.model_validate(stored)


@router.get(f"{_RUN}/artifacts/{{path:path}}", response_class=Response)
def get_artifact(run: str, path: str, scope: ViewerOrJob, deps: DepsOf, wanted: Part) -> Response:
    """The bytes of one file, or a range of them."""
    file = artifacts.open_artifact(deps, scope.actor, scope.project, run, path)
    return answer_file(deps, file, wanted, download=True)


@router.delete(_RUN)
def delete_run(run: str, scope: Member, deps: DepsOf) -> wire.Run:
    """To the bin. A job's run goes and comes with its job."""
    return shapes.run(runs.move_to_bin(deps, scope.actor, scope.project, run))


@router.post(f"{_RUN}/undelete")
def undelete_run(run: str, scope: Member, deps: DepsOf) -> wire.Run:
    return shapes.run(runs.take_from_bin(deps, scope.actor, scope.project, run))
