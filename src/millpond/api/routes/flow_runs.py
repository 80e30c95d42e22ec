"""Runs of flows: start, list, look, watch, cancel, retry, approve, reject."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from millpond.api.access import DepsOf, HubOf, Member, Scope, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import flows as shapes
from millpond.db.flow_runs import RunFilter
from millpond.model.flow_run import FlowRun, FlowRunPhase, RunOptions
from millpond.services.deps import Deps
from millpond.services.flows import control, starting, views
from millpond.services.flows.starting import StartRun
from millpond.services.people import access
from millpond.wire import flows as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}", tags=["flows"])

_RUN = "/flow-runs/{flow_run}"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_States = Annotated[list[FlowRunPhase] | None, Query(description="Only runs in one of these states.")]


@router.post("/flows/{flow}/runs", status_code=201)
def start_flow_run(flow: str, body: wire.FlowRunCreate, scope: Member, deps: DepsOf) -> wire.FlowRun:
    options = RunOptions(on=body.on, from_step=body.from_step, only_step=body.only, remember=body.remember)
    asked = StartRun(version=body.version, params=body.params, options=options)
    return _shown(deps, scope, starting.start(deps, scope.actor, scope.project, flow, asked))


@router.get("/flows/{flow}/runs")
def list_runs_of_flow(
    flow: str, scope: Viewer, deps: DepsOf, state: _States = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.FlowRunSummary]:
    """Newest first."""
    found = views.list_runs(deps, scope.project, RunFilter(phases=state), flow=flow, limit=limit, cursor=cursor)
    return page(found, shapes.run_summary)


@router.get("/flow-runs")
def list_flow_runs(
    scope: Viewer, deps: DepsOf, state: _States = None, trigger: str | None = None, limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[wire.FlowRunSummary]:  # fmt: skip
    """Of all flows of the project, newest first."""
    chosen = RunFilter(phases=state, trigger=trigger)
    return page(views.list_runs(deps, scope.project, chosen, flow=None, limit=limit, cursor=cursor), shapes.run_summary)


@router.get(_RUN)
def get_flow_run(flow_run: str, scope: Viewer, deps: DepsOf) -> wire.FlowRun:
    """`flow_run` is an id, NAME#NUMBER, or NAME for the newest run of a flow."""
    return shapes.run(views.get(deps, scope.project, flow_run))


@router.get(f"{_RUN}/events", response_class=StreamingResponse)
async def stream_flow_run_events(
    flow_run: str, scope: Viewer, deps: DepsOf, hub: HubOf, last_event_id: Annotated[str | None, Header()] = None
) -> StreamingResponse:
    """Server-sent events: whenever the run or one of its steps changes."""
    view = await run_in_threadpool(views.get, deps, scope.project, flow_run)
    events = hub.stream(
        [f"flow-run:{view.run.id}"], sees=lambda project_id: access.sees(scope.actor, project_id),
        user_id=scope.actor.user_id, last_id=last_event_id,
    )  # fmt: skip
    return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)


@router.post(f"{_RUN}:cancel")
def cancel_flow_run(flow_run: str, scope: Member, deps: DepsOf) -> wire.FlowRun:
    """End every step."""
    return _shown(deps, scope, control.cancel(deps, scope.actor, scope.project, flow_run))


@router.post(f"{_RUN}:retry")
def retry_flow_run(flow_run: str, body: wire.FlowRetry, scope: Member, deps: DepsOf) -> wire.FlowRun:
    """Run the steps again that did not succeed, or all from one step on."""
    return _shown(deps, scope, control.retry(deps, scope.actor, scope.project, flow_run, body.from_step))


@router.post(f"{_RUN}/steps/{{step}}:approve")
def approve_flow_step(flow_run: str, step: str, body: wire.FlowAnswer, scope: Viewer, deps: DepsOf) -> wire.FlowRun:
    """With the role that the flow asks for."""
    run = control.approve(deps, scope.actor, scope.project, flow_run, step, body.comment)
    return _shown(deps, scope, run)


@router.post(f"{_RUN}/steps/{{step}}:reject")
def reject_flow_step(flow_run: str, step: str, body: wire.FlowAnswer, scope: Viewer, deps: DepsOf) -> wire.FlowRun:
    """With the role that the flow asks for."""
    run = control.reject(deps, scope.actor, scope.project, flow_run, step, body.comment)
    return _shown(deps, scope, run)


def _shown(deps: Deps, scope: Scope, run: FlowRun) -> wire.FlowRun:
    return shapes.run(views.get(deps, scope.project, run.id))
