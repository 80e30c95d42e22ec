"""Triggers, firings and backfills as the wire shows them."""

from __future__ import annotations

from collections import Counter

from millpond.decide.flows.triggers.words import title
from millpond.model.flow_trigger import Firing, TriggerType
from millpond.services.flows.triggers.backfills import BackfillView, PartView, Plan
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


def plan(found: Plan) -> wire.BackfillPlan:
    parts = [_part(PartView(part, part.state.value), found.flow.name) for part in found.parts]
    counts = dict(Counter(part.state for part in parts))
    return wire.BackfillPlan(flow=found.flow.name, version=found.version.number, parts=parts, counts=counts)


def backfill(view: BackfillView) -> wire.Backfill:
    """Without its parts, as in a list."""
    one = view.backfill
    return wire.Backfill(
        id=one.id,
        flow=one.flow,
        version=one.version,
        state=view.state,
        reason=view.reason,
        params=dict(one.given),
        max_parallel=one.max_parallel,
        counts=view.counts,
        created_by=one.created_by,
        created_at=one.created_at,
        ended_at=one.ended_at,
        cancelled_by=one.cancelled_by,
    )


def whole_backfill(view: BackfillView) -> wire.Backfill:
    parts = [_part(one, view.backfill.flow) for one in view.parts]
    return backfill(view).model_copy(update={"parts": parts})


def _part(view: PartView, flow: str) -> wire.BackfillPart:
    return wire.BackfillPart(
        number=view.part.number,
        params=dict(view.part.params),
        state=view.state,
        reason=view.part.reason,
        run=view.part.run_id,
        written=f"{flow}#{view.run_number}" if view.run_number is not None else None,
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
