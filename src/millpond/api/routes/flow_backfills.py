"""Backfills: a flow run for each of many choices of parameters."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import flow_triggers as shapes
from millpond.services.flows.triggers import backfills
from millpond.services.flows.triggers.backfills import NewBackfill
from millpond.wire import flow_triggers as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}", tags=["flows"])


@router.post("/flows/{flow}/backfills:plan")
def plan_backfill(flow: str, body: wire.BackfillCreate, scope: Viewer, deps: DepsOf) -> wire.BackfillPlan:
    """What the backfill would run; nothing is started."""
    return shapes.plan(backfills.plan(deps, scope.project, flow, NewBackfill(**body.model_dump())))


@router.post("/flows/{flow}/backfills", status_code=201)
def create_backfill(flow: str, body: wire.BackfillCreate, scope: Member, deps: DepsOf) -> wire.Backfill:
    """Run the flow for each choice of parameters, at most `max_parallel` at once."""
    asked = NewBackfill(**body.model_dump())
    return shapes.whole_backfill(backfills.create(deps, scope.actor, scope.project, flow, asked))


@router.get("/flow-backfills")
def list_backfills(
    scope: Viewer, deps: DepsOf, flow: str | None = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Backfill]:
    """Newest first, without their parts."""
    return page(backfills.list_all(deps, scope.project, flow=flow, limit=limit, cursor=cursor), shapes.backfill)


@router.get("/flow-backfills/{backfill}")
def get_backfill(backfill: str, scope: Viewer, deps: DepsOf) -> wire.Backfill:
    return shapes.whole_backfill(backfills.get(deps, scope.project, backfill))


@router.post("/flow-backfills/{backfill}:cancel")
def cancel_backfill(backfill: str, scope: Member, deps: DepsOf) -> wire.Backfill:
    """Start nothing more, and cancel its runs that go on."""
    return shapes.whole_backfill(backfills.cancel(deps, scope.actor, scope.project, backfill))
