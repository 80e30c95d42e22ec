"""Triggers of flows: list, enable, disable, fire by hand, secrets of webhooks, history; and calls of webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from millpond.api.access import PUBLIC, DepsOf, Member, Viewer
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.api.shapes import flow_triggers as shapes
from millpond.decide.flows.triggers.schedule import parse_schedule
from millpond.model.flow_trigger import FiringState
from millpond.services.deps import Deps
from millpond.services.flows.triggers import hooks, triggers
from millpond.services.flows.triggers.hooks import HookCall
from millpond.services.flows.triggers.triggers import TriggerView
from millpond.wire import flow_triggers as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/projects/{project}", tags=["flows"])
# Beside /api/v1, because it is called by other systems and has a signature instead of a token.
hook_router = APIRouter(include_in_schema=False, dependencies=[PUBLIC])

_TRIGGER = "/flows/{flow}/triggers/{trigger}"
_States = Annotated[list[FiringState] | None, Query(description="Only firings in one of these states.")]


@router.get("/flow-triggers")
def list_flow_triggers(scope: Viewer, deps: DepsOf) -> wire.TriggerList:
    """Of all flows of the project, by flow."""
    return _list(deps, triggers.list_all(deps, scope.project))


@router.get("/schedule-times")
def list_schedule_times(
    scope: Viewer, deps: DepsOf, cron: Annotated[str, Query(max_length=200)],
    timezone: Annotated[str, Query(max_length=64)] = "UTC", count: Annotated[int, Query(ge=1, le=100)] = 5,
) -> wire.ScheduleTimes:  # fmt: skip
    """When a schedule comes next, before it is saved. 400 with the reason for one that there is not."""
    times = parse_schedule(cron, timezone).times(deps.clock.now())
    return wire.ScheduleTimes(times=list(islice(times, count)))


@router.get("/flows/{flow}/triggers")
def list_triggers_of_flow(flow: str, scope: Viewer, deps: DepsOf) -> wire.TriggerList:
    """In the order of its file."""
    return _list(deps, triggers.list_all(deps, scope.project, flow))


@router.get(_TRIGGER)
def get_flow_trigger(flow: str, trigger: str, scope: Viewer, deps: DepsOf) -> wire.Trigger:
    """`trigger` is an id, a place in the file (from 1), or the name of a webhook."""
    return _shown(deps, triggers.get(deps, scope.project, flow, trigger))


@router.post(f"{_TRIGGER}:enable")
def enable_flow_trigger(flow: str, trigger: str, scope: Member, deps: DepsOf) -> wire.Trigger:
    """It fires again from now on."""
    return _shown(deps, triggers.enable(deps, scope.actor, scope.project, flow, trigger))


@router.post(f"{_TRIGGER}:disable")
def disable_flow_trigger(flow: str, trigger: str, scope: Member, deps: DepsOf) -> wire.Trigger:
    return _shown(deps, triggers.disable(deps, scope.actor, scope.project, flow, trigger))


@router.post(f"{_TRIGGER}:fire")
def fire_flow_trigger(
    flow: str, trigger: str, body: wire.TriggerFire, scope: Member, deps: DepsOf
) -> wire.TriggerFiring:
    """Start a run as the trigger would now, enabled or not."""
    return shapes.firing(triggers.fire(deps, scope.actor, scope.project, flow, trigger, body.params), flow)


@router.post(f"{_TRIGGER}:rotate-secret")
def rotate_trigger_secret(flow: str, trigger: str, scope: Member, deps: DepsOf) -> wire.TriggerSecret:
    """A new secret of a webhook, shown this once; the one before is of no use from now on."""
    view, secret = triggers.rotate_secret(deps, scope.actor, scope.project, flow, trigger)
    return wire.TriggerSecret(trigger=_shown(deps, view), secret=secret)


@router.get("/flows/{flow}/firings")
def list_flow_firings(
    flow: str, scope: Viewer, deps: DepsOf, trigger: str | None = None, state: _States = None,
    limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None,
) -> Page[wire.TriggerFiring]:  # fmt: skip
    """What set off one or all triggers of a flow, and what came of it. Newest first."""
    found = triggers.history(deps, scope.project, flow, trigger=trigger, states=state, limit=limit, cursor=cursor)
    return page(found, lambda one: shapes.firing(one, flow))


@hook_router.post(f"{shapes.HOOKS}/{{hook}}", status_code=201)
async def call_webhook(
    hook: str, request: Request, response: Response, deps: DepsOf,
    x_mill_timestamp: Annotated[str, Header(max_length=40)] = "",
    x_mill_signature: Annotated[str, Header(max_length=200)] = "",
) -> wire.HookAnswer:  # fmt: skip
    """Start a run of the flow. `X-Mill-Timestamp`: seconds since 1970; `X-Mill-Signature`: `sha256=` and the
    HMAC-SHA256 of timestamp, `.` and body, with the webhook's secret. 202 if the run starts later."""
    made = HookCall(x_mill_timestamp, x_mill_signature, await request.body())
    fired, flow = await run_in_threadpool(hooks.call, deps, hook, made)
    if fired.run_id is None:
        response.status_code = 202
    return wire.HookAnswer(
        run=fired.run_id,
        written=shapes.written(fired, flow),
        state=fired.state.value,
        reason=fired.reason,
        firing=fired.id,
    )


def _list(deps: Deps, found: Sequence[TriggerView]) -> wire.TriggerList:
    return wire.TriggerList(items=[_shown(deps, one) for one in found])


def _shown(deps: Deps, view: TriggerView) -> wire.Trigger:
    return shapes.trigger(view, deps.settings.url)
