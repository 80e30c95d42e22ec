"""Runs: made by scripts, fed by batches; their metrics and artifacts."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from millpond.api.access import DepsOf, InProject, Member, Scope, SignedIn, Viewer
from millpond.api.file_answers import Part, answer_file
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import rerun as rerun_shapes
from millpond.api.shapes import runs as shapes
from millpond.model.people import Role
from millpond.services.jobs import jobs
from millpond.services.runs import artifact_staging, artifacts, reports, rerun, run_groups, run_lists, runs, series
from millpond.services.runs.rerun import Rerun
from millpond.services.runs.run_lists import RunListAsked
from millpond.wire import rerun as rerun_wire
from millpond.wire import runs as wire
from millpond.wire.base import Page

router = APIRouter(tags=["runs"])

_RUN = "/projects/{project}/runs/{run}"

ViewerOrJob = Annotated[Scope, InProject(Role.VIEWER, placements=True)]
MemberOrJob = Annotated[Scope, InProject(Role.MEMBER, placements=True)]


async def _asked(
    experiment: Annotated[str | None, Query(description="Only runs of this experiment.")] = None,
    parent: Annotated[str | None, Query(description="Only runs inside this run, by id.")] = None,
    deleted: Annotated[bool, Query(description="Runs in the bin instead.")] = False,
    filter: Annotated[
        str, Query(max_length=10_000, description="Like `metrics.acc > 0.9 and params.lr = '0.1'`.")
    ] = "",
    sort: Annotated[str, Query(max_length=2_000, description="Like `metrics.acc desc, started_at`.")] = "",
    columns: Annotated[
        str | None, Query(max_length=20_000, description="Values to return, like `params.lr, min(metrics.loss)`.")
    ] = None,
) -> RunListAsked:
    return RunListAsked(
        experiments=None if experiment is None else [experiment],
        parent=parent,
        deleted=deleted,
        filter=filter,
        sort=sort,
        columns=columns,
    )


# What lists of runs take, alike for one project and for all.
Asked = Annotated[RunListAsked, Depends(_asked)]


@router.get("/runs")
def list_all_runs(
    actor: SignedIn,
    deps: DepsOf,
    asked: Asked,
    project: str | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Run]:
    """Runs of all projects one may see, newest first unless sorted otherwise."""
    listing = run_lists.list_runs(deps, actor, replace(asked, project=project), limit=limit, cursor=cursor)
    return page(listing, shapes.run)


@router.get("/runs/keys")
def get_run_keys(
    actor: SignedIn,
    deps: DepsOf,
    project: str | None = None,
    experiment: Annotated[str | None, Query(description="Only runs of this experiment.")] = None,
    deleted: Annotated[bool, Query(description="Runs in the bin instead.")] = False,
) -> wire.RunKeys:
    """Parameters, metrics, tags, experiments and users of the newest 500 runs, to choose columns and filters from."""
    experiments = None if experiment is None else [experiment]
    asked = RunListAsked(project=project, experiments=experiments, deleted=deleted)
    return wire.RunKeys.model_validate(run_lists.keys(deps, actor, asked))


@router.get("/runs/groups")
def group_runs(
    actor: SignedIn,
    deps: DepsOf,
    asked: Asked,
    project: str | None = None,
    by: Annotated[
        str | None, Query(max_length=1_000, description="Like `params.lr`, `tags.team`, `experiment` or `state`.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.RunGroup]:
    """How many runs of a list have each value, the largest groups first; without `by`, all runs as one group.

    Metrics among `columns` are summed up over each group. `sort` is not used.
    """
    chosen = replace(asked, project=project)
    return page(run_groups.group_runs(deps, actor, chosen, by, limit=limit, cursor=cursor), shapes.group)


@router.get("/projects/{project}/runs")
def list_runs(
    scope: Viewer, deps: DepsOf, asked: Asked, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Run]:
    """Runs of a project, newest first unless sorted otherwise."""
    chosen = replace(asked, project=scope.project.name)
    return page(run_lists.list_runs(deps, scope.actor, chosen, limit=limit, cursor=cursor), shapes.run)


@router.post("/projects/{project}/runs", status_code=201)
def create_run(body: wire.RunCreate, scope: MemberOrJob, deps: DepsOf) -> wire.Run:
    """Creating one with the same id again is the same run; with `resume` it runs again."""
    return shapes.run(runs.create(deps, scope.actor, scope.project, shapes.new_run(body)))


@router.get("/projects/{project}/runs/find")
def find_run(
    scope: Viewer,
    deps: DepsOf,
    run: Annotated[str, Query(min_length=1, max_length=200, description="Id, beginning of an id, or name.")],
    unique: Annotated[bool, Query(description="Refuse a name that several runs have.")] = False,
) -> wire.Run:
    """The run with this id or name; of several with one name, the newest."""
    return shapes.run(runs.resolve(deps, scope.actor, scope.project, run, unique=unique))


@router.post("/projects/{project}/runs/metrics")
def get_metrics_of_runs(body: wire.SeriesAsked, scope: Viewer, deps: DepsOf) -> wire.SeriesList:
    """Metrics of several runs, each series thinned to `limit` points: exact if it is not longer."""
    found = series.metric_series(
        deps, scope.actor, scope.project, list(dict.fromkeys(body.runs)), keys=body.keys, limit=body.limit,
        start=body.start, end=body.end,
    )  # fmt: skip
    return shapes.series_list(found, times=body.times)  # type: ignore[return-value]


@router.post("/projects/{project}/runs/compare")
def compare_runs(body: wire.RunsAsked, scope: Viewer, deps: DepsOf) -> wire.Comparison:
    """Parameters, tags and last metrics of runs side by side, and which of them differ."""
    return shapes.comparison(run_lists.compared(deps, scope.actor, scope.project, body.runs))


@router.get(_RUN)
def get_run(run: str, scope: ViewerOrJob, deps: DepsOf) -> wire.RunDetails:
    return shapes.details(runs.get(deps, scope.actor, scope.project, run))


@router.patch(_RUN)
def edit_run(run: str, body: wire.RunEdit, scope: MemberOrJob, deps: DepsOf) -> wire.RunDetails:
    """Change the name, experiment, notes or tags of a run."""
    return shapes.details(runs.edit(deps, scope.actor, scope.project, run, shapes.run_edit(body)))


@router.post(f"{_RUN}/batch", status_code=204)
def add_batch(run: str, body: wire.RunBatch, scope: MemberOrJob, deps: DepsOf) -> None:
    """What a client reports at once; a batch sent twice counts once."""
    reports.take_report(deps, scope.actor, scope.project, run, shapes.run_report(body))


@router.get(f"{_RUN}/metrics")
def get_metrics(
    run: str,
    scope: ViewerOrJob,
    deps: DepsOf,
    key: Annotated[list[str] | None, Query(max_length=100, description="Only these metrics.")] = None,
    limit: Annotated[int, Query(ge=4, le=100_000, description="Maximum number of points per series.")] = 1000,
    start: Annotated[int | None, Query(description="Only points from this step on.")] = None,
    end: Annotated[int | None, Query(description="Only points up to this step.")] = None,
) -> wire.SeriesList:
    """Some metrics of a run, or all of them without `key`; a series with more than `limit` points is thinned."""
    found = series.metric_series(
        deps, scope.actor, scope.project, [run], keys=key, limit=limit, start=start, end=end
    )  # fmt: skip
    return shapes.series_list(found)  # type: ignore[return-value]


@router.get(f"{_RUN}/metrics/history")
def get_metric_history(
    run: str,
    scope: ViewerOrJob,
    deps: DepsOf,
    key: Annotated[str, Query(max_length=250)],
    limit: Annotated[int, Query(ge=1, le=25_000, description="Maximum number of points.")] = 1000,
    cursor: Cursor = None,
) -> wire.SeriesPage:
    """Every point of one metric, a page at a time."""
    found = series.metric_history(deps, scope.actor, scope.project, run, key, limit=limit, cursor=cursor)
    return shapes.series_list(found.items, found.next)  # type: ignore[return-value]


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


@router.post(f"{_RUN}/rerun")
def rerun_run(run: str, body: rerun_wire.RerunAsked, scope: Member, deps: DepsOf) -> rerun_wire.Rerun:
    """Make the run again as a job, from its recorded code, data, environment and command; or plan it (`dry_run`).

    `parts` say what is the same, changed, not pinned or gone. If something is gone, only a plan is answered; without
    `dry_run`, 409. The new run has the experiment and the parameters of this one, and its id as the tag `rerun_of`.
    """
    asked = rerun_shapes.asked(body)
    if body.dry_run:
        return rerun_shapes.rerun(Rerun(rerun.plan(deps, scope.actor, scope.project, run, asked)), None)
    made = rerun.rerun(deps, scope.actor, scope.project, run, asked)
    return rerun_shapes.rerun(made, jobs.view(deps, made.job) if made.job else None)
