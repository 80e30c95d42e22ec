"""Keeps the triggers of the newest version of each flow, in the transaction that saves it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import commits, datasets, flow_triggers, projects
from millpond.decide.flows.triggers.replacing import match_triggers
from millpond.decide.flows.triggers.schedule import Schedule
from millpond.model.flow import Flow, Trigger
from millpond.model.flow_trigger import Branch, SavedTrigger, TriggerType
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.saved_flow import SavedFlow

UTC_ZONE = "UTC"


def replace_triggers(tx: Connection, saved: SavedFlow, flow: Flow, now: datetime) -> None:
    """Those of the flow take the place of what it had. One that is the same keeps its id, its secret, whether it is
    enabled, and how far it has looked. Only while the flow is locked."""
    before = flow_triggers.of_flows(tx, [saved.id])
    matches = match_triggers(before, flow.triggers)
    kept = {one.id for one in matches if one is not None}
    flow_triggers.remove(tx, [one.id for one in before if one.id not in kept], now)
    for position, (trigger, match) in enumerate(zip(flow.triggers, matches, strict=True), start=1):
        if match is None:
            flow_triggers.insert(tx, from_now_on(tx, _new(tx, saved, trigger, position, now), now))
        else:
            flow_triggers.save(tx, replace(match, position=position, settings=dict(trigger.settings)))


def remove_all(tx: Connection, flow_id: str, now: datetime) -> None:
    """For a flow that is removed."""
    flow_triggers.remove(tx, [one.id for one in flow_triggers.of_flows(tx, [flow_id])], now)


def from_now_on(tx: Connection, trigger: SavedTrigger, now: datetime) -> SavedTrigger:
    """The trigger without anything to catch up on."""
    match trigger.type:
        case TriggerType.CRON:
            return replace(trigger, next_at=schedule_of(trigger).after(now))
        case TriggerType.COMMIT:
            return replace(trigger, seen=head_of(tx, trigger.watched) if trigger.watched else None)
    return trigger


def schedule_of(trigger: SavedTrigger) -> Schedule:
    settings = trigger.settings
    return Schedule(" ".join(settings["cron"].split()), settings.get("timezone", UTC_ZONE))


def head_of(tx: Connection, branch: Branch) -> str | None:
    """The newest commit of a branch; None if it, or its dataset, is not there."""
    dataset = datasets.find(tx, branch.project_id, branch.dataset)
    ref = commits.find_ref(tx, dataset.id, branch.branch) if dataset else None
    return ref.commit_id if ref else None


def branch_of(tx: Connection, written: str, project_id: str) -> Branch | None:
    """The branch that a flow of this project names; None if its project is not there."""
    ref = DatasetRef.parse(written)
    if ref.project is not None:
        project = projects.find(tx, ref.project)
        if project is None:
            return None
        project_id = project.id
    return Branch(project_id, ref.dataset, ref.ref or DEFAULT_BRANCH)


def newest_watched(tx: Connection, flow: Flow, project_id: str) -> str | None:
    """The newest commit of the branch that the first commit trigger of a flow watches."""
    written = next((one.settings["ref"] for one in flow.triggers if one.type == TriggerType.COMMIT.value), None)
    branch = branch_of(tx, written, project_id) if written is not None else None
    return head_of(tx, branch) if branch is not None else None


def _new(tx: Connection, saved: SavedFlow, trigger: Trigger, position: int, now: datetime) -> SavedTrigger:
    kind, settings = TriggerType(trigger.type), dict(trigger.settings)
    return SavedTrigger(
        id=new_id(16),
        project_id=saved.project_id,
        flow_id=saved.id,
        flow=saved.name,
        position=position,
        type=kind,
        settings=settings,
        watched=branch_of(tx, settings["ref"], saved.project_id) if kind is TriggerType.COMMIT else None,
        upstream=settings["flow"] if kind is TriggerType.FLOW else None,
        created_at=now,
    )
