"""Jobs: submit, list, look, stop, delete and bring back, one or many; why one is in its state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Member, Scope, SignedIn, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import jobs as shapes
from millpond.db.jobs import JobFilter
from millpond.model.job import JobState
from millpond.model.job_spec import JobKind
from millpond.services.deps import Deps
from millpond.services.jobs import bulk, dry_run, jobs, submit, why
from millpond.services.jobs.bulk import BulkChange
from millpond.wire import jobs as wire
from millpond.wire.base import Page

router = APIRouter(tags=["jobs"])

_JOB = "/projects/{project}/jobs/{job}"


@router.get("/jobs")
def list_jobs(
    actor: SignedIn,
    deps: DepsOf,
    project: str | None = None,
    state: Annotated[list[JobState] | None, Query()] = None,
    deleted: bool = False,
    mine: bool = False,
    user: str | None = None,
    compute: str | None = None,
    kind: JobKind | None = None,
    text: Annotated[
        str | None, Query(max_length=100, description="Part of the name, or the beginning of the id.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.Job]:
    """Of all projects one may see, newest first; `state` may be given several times."""
    chosen = JobFilter(
        states=state, created_by=actor.name if mine else user, deleted=deleted, compute=compute, kind=kind, text=text
    )
    return page(jobs.list_jobs(deps, actor, chosen, project=project, limit=limit, cursor=cursor), shapes.job)


@router.post("/projects/{project}/jobs", status_code=201)
def submit_job(body: wire.JobCreate, scope: Member, deps: DepsOf) -> wire.Job:
    return shapes.job(jobs.view(deps, submit.submit(deps, scope.actor, scope.project, body)))


@router.post("/projects/{project}/jobs/dry-run")
def dry_run_job(body: wire.JobCreate, scope: Member, deps: DepsOf) -> wire.DryRun:
    """What its template would fill in and what each place would cost; nothing is submitted."""
    found = dry_run.dry_run(deps, scope.actor, scope.project, body.spec)
    places = [wire.PlaceScore.model_validate(one) for one in found.places]
    return wire.DryRun(
        spec=found.spec, template=found.template, rule=found.rule, reason=found.reason, places=places
    )  # fmt: skip


@router.post("/projects/{project}/jobs/stop")
def stop_jobs(body: wire.JobsChange, scope: Member, deps: DepsOf) -> wire.JobsChanged:
    """End many and keep everything; what became of each is told, in the order asked."""
    return _change_many(deps, scope, BulkChange.STOP, body)


@router.post("/projects/{project}/jobs/delete")
def delete_jobs(body: wire.JobsChange, scope: Member, deps: DepsOf) -> wire.JobsChanged:
    """End many if need be; jobs and runs go to the bin."""
    return _change_many(deps, scope, BulkChange.DELETE, body)


@router.post("/projects/{project}/jobs/undelete")
def undelete_jobs(body: wire.JobsChange, scope: Member, deps: DepsOf) -> wire.JobsChanged:
    return _change_many(deps, scope, BulkChange.UNDELETE, body)


@router.post("/projects/{project}/jobs/suspend")
def suspend_jobs(body: wire.JobsChange, scope: Member, deps: DepsOf) -> wire.JobsChanged:
    """Stop many for a while, and keep them out of the queue until they are resumed."""
    return _change_many(deps, scope, BulkChange.SUSPEND, body)


@router.post("/projects/{project}/jobs/resume")
def resume_jobs(body: wire.JobsChange, scope: Member, deps: DepsOf) -> wire.JobsChanged:
    return _change_many(deps, scope, BulkChange.RESUME, body)


@router.get(_JOB)
def get_job(job: str, scope: Viewer, deps: DepsOf) -> wire.Job:
    """`job` is an id, the beginning of one, NAME (the newest) or NAME#N."""
    return shapes.job(jobs.get(deps, scope.project, job))


@router.post(f"{_JOB}/stop")
def stop_job(job: str, scope: Member, deps: DepsOf) -> wire.Job:
    """End it and keep everything."""
    return shapes.job(jobs.stop(deps, scope.actor, scope.project, job))


@router.post(f"{_JOB}/suspend")
def suspend_job(job: str, scope: Member, deps: DepsOf) -> wire.Job:
    """Stop it for a while, with its grace to save a checkpoint, and keep it out of the queue until it is resumed."""
    return shapes.job(jobs.suspend(deps, scope.actor, scope.project, job))


@router.post(f"{_JOB}/resume")
def resume_job(job: str, scope: Member, deps: DepsOf) -> wire.Job:
    """Put it back into the queue. It goes on from its newest checkpoint."""
    return shapes.job(jobs.resume(deps, scope.actor, scope.project, job))


@router.delete(_JOB)
def delete_job(job: str, scope: Member, deps: DepsOf) -> wire.Job:
    """End it if need be; job and run go to the bin."""
    return shapes.job(jobs.delete(deps, scope.actor, scope.project, job))


@router.post(f"{_JOB}/undelete")
def undelete_job(job: str, scope: Member, deps: DepsOf) -> wire.Job:
    return shapes.job(jobs.undelete(deps, scope.actor, scope.project, job))


@router.get(f"{_JOB}/attempts")
def list_attempts(job: str, scope: Viewer, deps: DepsOf) -> wire.AttemptList:
    """Every attempt to run it, the first one first; each has a log of its own."""
    return wire.AttemptList(items=[shapes.attempt(view) for view in jobs.attempts(deps, scope.project, job)])


@router.get(f"{_JOB}/events")
def list_job_events(job: str, scope: Viewer, deps: DepsOf) -> wire.JobEventList:
    """Every change of its state, oldest first."""
    found = why.events(deps, scope.actor, scope.project, job)
    return wire.JobEventList(items=[wire.JobEvent.model_validate(event) for event in found])


@router.get(f"{_JOB}/why")
def why_job(job: str, scope: Viewer, deps: DepsOf) -> wire.Why:
    """Its state and why: the rule, in words, who holds what it needs, when it may start."""
    found = why.why(deps, scope.actor, scope.project, job)
    return wire.Why(
        state=found.state,
        rule=found.rule,
        reasons=list(found.reasons),
        blockers=[wire.Blocker(**asdict(one) | {"gpus": one.gpus / 100}) for one in found.blockers],
        earliest_start=found.earliest_start,
        nominated_on=found.nominated_on,
        places=[wire.PlaceScore.model_validate(one) for one in found.places],
    )


def _change_many(deps: Deps, scope: Scope, what: BulkChange, body: wire.JobsChange) -> wire.JobsChanged:
    return wire.JobsChanged(
        items=[
            wire.JobChanged(
                asked=outcome.asked,
                job=shapes.job(outcome.view) if outcome.view else None,
                code=outcome.problem.code if outcome.problem else None,
                problem=outcome.problem.message if outcome.problem else None,
                hint=outcome.problem.hint if outcome.problem else None,
            )
            for outcome in bulk.change(deps, scope.actor, scope.project, what, body.jobs)
        ]
    )
