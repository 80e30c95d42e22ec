"""Schedules that take snapshots by themselves, and the rules by which older ones go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import workspace_snapshots
from millpond.decide.flows.triggers.schedule import Schedule, parse_schedule
from millpond.decide.workspaces.keeping import copies_to_drop, expired, rules_of
from millpond.errors import BadRequest, MillError
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM, Actor, Project
from millpond.model.workspace import (
    KeepRule,
    SnapshotOrigin,
    SnapshotSchedule,
    SnapshotState,
    Workspace,
    check_snapshot_name,
)
from millpond.services.deps import Deps
from millpond.services.people import access as people_access
from millpond.services.workspaces import access, snapshots

logger = getLogger(__name__)

LEAST_SECONDS = 60


def put(
    deps: Deps, actor: Actor, project: Project, written: str, *, series: str, cron: str = "", timezone: str = "UTC",
    every_seconds: int = 0, keep: KeepRule | None = None,
) -> SnapshotSchedule:  # fmt: skip
    """Take snapshots of a series by a cron expression, or every so often; in the place of the schedule it had."""
    check_snapshot_name(series)
    if bool(cron) == bool(every_seconds):
        raise BadRequest("Give a cron expression or a time between snapshots.", hint="Like --every 1h or --cron.")
    if every_seconds and every_seconds < LEAST_SECONDS:
        raise BadRequest("Snapshots must be at least 1m apart.")
    now = deps.clock.now()
    schedule = SnapshotSchedule(
        id=new_id(), workspace_id="", series=series, cron=cron and parse_schedule(cron, timezone).cron,
        timezone=timezone, every_seconds=every_seconds, keep=keep, created_by=actor.name, created_at=now, next_at=now,
    )  # fmt: skip
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        made = replace(schedule, workspace_id=workspace.id, next_at=_next(schedule, now))
        workspace_snapshots.put_schedule(tx, made)
        access.record(tx, deps, actor, workspace, "schedule", series=series, schedule=made.written)
    access.announce(deps, workspace)
    return made


def remove(deps: Deps, actor: Actor, project: Project, written: str, series: str) -> None:
    """The snapshots that it has taken stay, under their rule."""
    with deps.db.write() as tx:
        workspace = access.lock_used(tx, actor, project, written)
        if not workspace_snapshots.remove_schedule(tx, workspace.id, series):
            known = [one.series for one in workspace_snapshots.schedules(tx, workspace.id)]
            raise people_access.not_found("schedule", series, known)
        access.record(tx, deps, actor, workspace, "unschedule", series=series)
    access.announce(deps, workspace)


def list_schedules(deps: Deps, actor: Actor, project: Project, written: str) -> Sequence[SnapshotSchedule]:
    with deps.db.read() as tx:
        return workspace_snapshots.schedules(tx, access.find(tx, actor, project, written).id)


def run_due(deps: Deps, now: datetime) -> int:
    """Take every snapshot that is due; how many. A time that was missed is made up for once."""
    with deps.db.read() as tx:
        found = workspace_snapshots.due(tx, now)
    count = 0
    for one in found:
        with deps.db.write() as tx:
            workspace = access.lock(tx, one.workspace_id)
            current = workspace_snapshots.lock_schedule(tx, one.id)
            if workspace is None or current is None or current.next_at != one.next_at:
                continue  # another server was faster
            problem = _take(tx, deps, workspace, current)
            count += problem is None
            workspace_snapshots.save_schedule(
                tx, replace(current, next_at=_next(current, now), last_at=now, problem=problem)
            )
        access.announce(deps, workspace, "snapshot")
    return count


def apply_rules(deps: Deps, now: datetime) -> int:
    """Remove snapshots that their rules let go, and copies that volumes need not hold; how many."""
    with deps.db.read() as tx:
        found = workspace_snapshots.with_rules(tx)
    count = 0
    for workspace_id in found:
        with deps.db.read() as tx:
            if not _goes(tx, workspace_id, now):
                continue
        with deps.db.write() as tx:
            workspace = access.lock(tx, workspace_id)
            if workspace is None:
                continue
            goes = _goes(tx, workspace_id, now)
            known = {one.number: one for one in workspace_snapshots.of_workspace(tx, workspace_id)}
            snapshots.remove_in(tx, workspace, [known[number] for number in goes])
            for number, why in goes.items():
                access.record(tx, deps, SYSTEM, workspace, "snapshot.expire", snapshot=known[number].name, why=why)
            count += len(goes)
        access.announce(deps, workspace, "snapshot")
    return count


def drop_copies(tx: Connection, workspace: Workspace) -> int:
    """Let near copies go that are kept, where they and the tree take more than the workspace's size."""
    known = workspace_snapshots.of_workspace(tx, workspace.id)
    chosen = copies_to_drop(workspace, known, snapshots.needed_by(tx, workspace.id))
    for one in known:
        if one.number in chosen and not one.leaves_volume:
            workspace_snapshots.save(tx, replace(one, leaves_volume=True))
    return len(chosen)


def _goes(tx: Connection, workspace_id: str, now: datetime) -> dict[int, str]:
    known = [
        one for one in workspace_snapshots.of_workspace(tx, workspace_id) if one.state is not SnapshotState.REMOVING
    ]
    scheduled = {one.series: one.keep for one in workspace_snapshots.schedules(tx, workspace_id) if one.keep}
    return dict(expired(known, rules_of(known, scheduled), snapshots.needed_by(tx, workspace_id), now))


def _take(tx: Connection, deps: Deps, workspace: Workspace, schedule: SnapshotSchedule) -> str | None:
    """Why it was not taken; None if it was. What is being restored is taken the next time."""
    try:
        with tx.begin_nested():
            snapshots.take_in(
                tx, deps, replace(SYSTEM, name=schedule.created_by), workspace, series=schedule.series,
                keep=schedule.keep, origin=SnapshotOrigin.SCHEDULE,
            )  # fmt: skip
    except MillError as error:
        logger.info("snapshot_not_taken workspace=%s reason=%s", workspace.id, error.message)
        return error.message
    return None


def _next(schedule: SnapshotSchedule, now: datetime) -> datetime:
    if schedule.cron:
        return Schedule(schedule.cron, schedule.timezone).after(now)
    return now + timedelta(seconds=schedule.every_seconds)
