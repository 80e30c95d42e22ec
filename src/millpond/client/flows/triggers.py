"""Triggers of flows, what set them off, and backfills over the API."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millpond.client.http import Api, segment
from millpond.wire.flow_triggers import (
    Backfill,
    BackfillCreate,
    BackfillPlan,
    Trigger,
    TriggerFire,
    TriggerFiring,
    TriggerList,
    TriggerSecret,
)

_POLL_SECONDS = 1.0


def list_triggers(api: Api, project: str, flow: str | None = None) -> list[Trigger]:
    """Of one flow, or of all flows of the project."""
    path = f"{_flow(project, flow)}/triggers" if flow is not None else f"/projects/{segment(project)}/flow-triggers"
    return api.get(path, TriggerList).items


def change_trigger(api: Api, project: str, flow: str, trigger: str, verb: str) -> Trigger:
    """`verb` is enable or disable; repeating it changes nothing."""
    return api.send("POST", f"{_trigger(project, flow, trigger)}:{verb}", Trigger, idempotent=True)


def fire_trigger(
    api: Api, project: str, flow: str, trigger: str, params: Mapping[str, Any] | None = None
) -> TriggerFiring:
    """Start a run as the trigger would now. Conflict if it starts none."""
    body = TriggerFire(params=dict(params or {}))
    return api.send("POST", f"{_trigger(project, flow, trigger)}:fire", TriggerFiring, body)


def rotate_secret(api: Api, project: str, flow: str, trigger: str) -> TriggerSecret:
    """A new secret of a webhook, shown this once."""
    return api.send("POST", f"{_trigger(project, flow, trigger)}:rotate-secret", TriggerSecret)


def list_firings(
    api: Api, project: str, flow: str, *, trigger: str | None = None, state: str | None = None,
    at_most: int | None = None,
) -> Iterator[TriggerFiring]:  # fmt: skip
    """Newest first."""
    return api.items(f"{_flow(project, flow)}/firings", TriggerFiring, trigger=trigger, state=state, at_most=at_most)


def plan_backfill(api: Api, project: str, flow: str, request: BackfillCreate) -> BackfillPlan:
    """What it would run; nothing is started."""
    return api.send("POST", f"{_flow(project, flow)}/backfills:plan", BackfillPlan, request, idempotent=True)


def create_backfill(api: Api, project: str, flow: str, request: BackfillCreate) -> Backfill:
    return api.send("POST", f"{_flow(project, flow)}/backfills", Backfill, request)


def list_backfills(
    api: Api, project: str, *, flow: str | None = None, at_most: int | None = None
) -> Iterator[Backfill]:
    """Newest first, without their parts."""
    return api.items(_backfills(project), Backfill, flow=flow, at_most=at_most)


def get_backfill(api: Api, project: str, backfill: str) -> Backfill:
    return api.get(f"{_backfills(project)}/{segment(backfill)}", Backfill)


def cancel_backfill(api: Api, project: str, backfill: str) -> Backfill:
    return api.send("POST", f"{_backfills(project)}/{segment(backfill)}:cancel", Backfill, idempotent=True)


def wait_for_backfill(
    api: Api, project: str, backfill: str, *, timeout: float | None = None,
    changed: Callable[[Backfill], None] | None = None,
) -> Backfill:  # fmt: skip
    """The backfill when it has ended, or after `timeout` seconds. `changed` is told of every new count."""
    until = None if timeout is None else time.monotonic() + timeout
    told: object = None
    while True:
        found = get_backfill(api, project, backfill)
        if changed is not None and told != found.counts:
            told = found.counts
            changed(found)
        if found.ended_at is not None or (until is not None and time.monotonic() >= until):
            return found
        time.sleep(_POLL_SECONDS)


def _flow(project: str, flow: str | None) -> str:
    return f"/projects/{segment(project)}/flows/{segment(flow or '')}"


def _trigger(project: str, flow: str, trigger: str) -> str:
    return f"{_flow(project, flow)}/triggers/{segment(trigger)}"


def _backfills(project: str) -> str:
    return f"/projects/{segment(project)}/flow-backfills"
