"""Triggers, firings and backfills as the wire shows them."""

from __future__ import annotations

from millpond.decide.flows.triggers.words import title
from millpond.model.flow_trigger import Firing, TriggerType
from millpond.services.flows.triggers.triggers import TriggerView
from millpond.wire import flow_triggers as wire

HOOKS = "/hooks"


def trigger(view: TriggerView, server: str) -> wire.Trigger:
    """`server` is the URL that people reach the server by."""
    one = view.trigger
    is_hook = one.type is TriggerType.WEBHOOK
    return wire.Trigger(
        id=one.id,
        flow=one.flow,
        position=one.position,
        type=one.type.value,
        settings=dict(one.settings),
        title=title(one.type, one.settings),
        enabled=one.is_enabled,
        problem=view.problem,
        run_as=view.run_as,
        disabled_by=one.disabled_by,
        disabled_at=one.disabled_at,
        created_at=one.created_at,
        next_at=one.next_at if one.is_enabled else None,
        fired_at=one.fired_at,
        newest=firing(view.newest, one.flow) if view.newest else None,
        url=f"{server}{HOOKS}/{one.id}" if is_hook else None,
        has_secret=one.secret is not None if is_hook else None,
        secret_at=one.secret_at,
    )


def firing(one: Firing, flow: str) -> wire.TriggerFiring:
    return wire.TriggerFiring(
        id=one.id,
        trigger=one.trigger_id,
        state=one.state.value,
        reason=one.reason,
        by=one.by,
        commit=one.commit,
        commits=one.commits,
        scheduled_at=one.scheduled_at,
        manual=one.manual,
        run=one.run_id,
        written=written(one, flow),
        created_at=one.created_at,
        due_at=one.due_at,
        ended_at=one.ended_at,
    )


def written(one: Firing, flow: str) -> str | None:
    return f"{flow}#{one.run_number}" if one.run_number is not None else None
