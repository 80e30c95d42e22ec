"""Backfills: a flow run for each of many choices of parameters, some at once, whichever server goes on with it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from logging import getLogger
from typing import Any

from sqlalchemy import Connection

from millpond.db import flow_backfills, flow_runs, flows, projects
from millpond.decide.flows.backfill import Room, expand
from millpond.decide.flows.given import flow_params
from millpond.decide.flows.reader import read_flow
from millpond.errors import Conflict, MillError
from millpond.model.flow import Flow
from millpond.model.flow_run import FlowRun, FlowRunPhase, RunTrigger
from millpond.model.flow_trigger import Backfill, BackfillPart, BackfillPartState
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project
from millpond.model.saved_flow import FlowVersion, SavedFlow
from millpond.services.deps import Deps
from millpond.services.flows import control, saving, starting
from millpond.services.flows.starting import StartRun
from millpond.services.flows.triggers.firing import TOPIC
from millpond.services.flows.triggers.rights import runner_of
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment

logger = getLogger(__name__)

# Runs of these count as done, or as being done.
_DONE = (FlowRunPhase.SUCCEEDED, FlowRunPhase.RUNNING, FlowRunPhase.QUEUED)
RUNNING, SUCCEEDED, FAILED, CANCELLED = "running", "succeeded", "failed", "cancelled"


@dataclass(frozen=True, slots=True)
class NewBackfill:
    """What is asked for. `params`: by name a range, a list or one value."""

    params: Mapping[str, Any]
    version: int | None = None
    max_parallel: int = 4
    skip_done: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a backfill would do."""

    flow: SavedFlow
    version: FlowVersion
    parts: Sequence[BackfillPart]


@dataclass(frozen=True, slots=True)
class PartView:
    """`state` is that of its run, once it has one."""

    part: BackfillPart
    state: str
    run_number: int | None = None


@dataclass(frozen=True, slots=True)
class BackfillView:
    """`reason` says what the next part waits for."""

    backfill: Backfill
    parts: Sequence[PartView]
    reason: str = ""

    @property
    def planned(self) -> list[BackfillPart]:
        return [one.part for one in self.parts if one.part.state is BackfillPartState.PLANNED]

    @property
    def going_on(self) -> int:
        living = (FlowRunPhase.QUEUED.value, FlowRunPhase.RUNNING.value)
        return sum(one.state in living for one in self.parts)

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(one.state for one in self.parts))

    @property
    def state(self) -> str:
        if self.backfill.ended_at is None:
            return RUNNING
        if self.backfill.cancelled_by is not None:
            return CANCELLED
        bad = (FlowRunPhase.FAILED.value, FlowRunPhase.CANCELLED.value, BackfillPartState.REFUSED.value)
        return FAILED if any(one.state in bad for one in self.parts) else SUCCEEDED


def plan(deps: Deps, project: Project, name: str, asked: NewBackfill) -> Plan:
    """Every run that it would start, or leave out. BadRequest for parameters that cannot be."""
    with deps.db.read() as tx:
        saved = saving.find(tx, project, name)
        version = saving.find_version(tx, saved, asked.version)
        flow = _read(version)
        choices = expand(flow.params, asked.params, deps.settings.max_fan_out)
        wholes = [flow_params(flow, choice) for choice in choices]
        done = _done(tx, saved, version) if asked.skip_done else {}
    parts = [
        _planned(number, choice, done.get(_key(whole)))
        for number, (choice, whole) in enumerate(zip(choices, wholes, strict=True), start=1)
    ]
    return Plan(saved, version, parts)


def create(deps: Deps, actor: Actor, project: Project, name: str, asked: NewBackfill) -> BackfillView:
    """Its runs belong to the actor, and begin as soon as there is room for them."""
    planned = plan(deps, project, name, asked)
    now = deps.clock.now()
    backfill = Backfill(
        id=new_id(),
        project_id=project.id,
        flow_id=planned.flow.id,
        flow=name,
        version=planned.version.number,
        given=dict(asked.params),
        max_parallel=asked.max_parallel,
        created_by=actor.name,
        created_at=now,
    )
    with deps.db.write() as tx:
        flow_backfills.insert(tx, backfill, [replace(part, backfill_id=backfill.id) for part in planned.parts])
        audit.record(tx, now=now, actor=actor, action="flow.backfill", subject=f"{project.name}/{name}",
                     project_id=project.id, details={"backfill": backfill.id, "runs": len(planned.parts)})  # fmt: skip
    deps.events.wake(TOPIC)
    return get(deps, project, backfill.id)


def get(deps: Deps, project: Project, backfill_id: str) -> BackfillView:
    with deps.db.read() as tx:
        view = _views(tx, [_find(tx, project, backfill_id)])[0]
        return replace(view, reason=_room(tx, view).reason) if view.planned else view


def list_all(
    deps: Deps, project: Project, *, flow: str | None, limit: int, cursor: str | None
) -> Listing[BackfillView]:  # fmt: skip
    """Newest first."""
    with deps.db.read() as tx:
        flow_id = saving.find(tx, project, flow).id if flow is not None else None
        found = flow_backfills.page(tx, project.id, flow_id=flow_id, limit=limit + 1, before=moment_of(cursor))
        views = _views(tx, found)
    return page_of(views, limit, key=lambda one: written_moment(one.backfill.created_at, one.backfill.id))


def cancel(deps: Deps, actor: Actor, project: Project, backfill_id: str) -> BackfillView:
    """Start nothing more, and cancel the runs that go on. No effect if it has ended."""
    with deps.db.write() as tx:
        found = flow_backfills.lock(tx, _find(tx, project, backfill_id).id)
        if found is not None and found.ended_at is None and found.cancelled_by is None:
            flow_backfills.save(tx, replace(found, cancelled_by=actor.name))
            flow_backfills.skip_planned(tx, found.id, f"Cancelled by {actor.name}.")
            audit.record(tx, now=deps.clock.now(), actor=actor, action="flow.cancel-backfill",
                         subject=f"{project.name}/{found.flow}", project_id=project.id,
                         details={"backfill": found.id})  # fmt: skip
    for one in get(deps, project, backfill_id).parts:
        if one.part.run_id is not None and one.state in (FlowRunPhase.QUEUED.value, FlowRunPhase.RUNNING.value):
            control.cancel(deps, actor, project, one.part.run_id)
    deps.events.wake(TOPIC)
    return get(deps, project, backfill_id)


def advance_all(deps: Deps, now: datetime) -> None:
    """Start what there is room for, and end backfills whose runs have all ended."""
    with deps.db.read() as tx:
        found = flow_backfills.living(tx)
    for one in found:
        try:
            _advance(deps, one, now)
        except MillError as error:  # the lake is away, or the like: it goes on later
            logger.warning("backfill_waits backfill=%s reason=%s", one.id, error.message)
        except Exception:  # one that cannot go on keeps no other from it
            logger.exception("backfill_failed backfill=%s", one.id)


def _advance(deps: Deps, backfill: Backfill, now: datetime) -> None:
    with deps.db.read() as tx:
        view = _views(tx, [backfill])[0]
        project = projects.get(tx, backfill.project_id)
        room = _room(tx, view)
    if not view.planned and not view.going_on:
        with deps.db.write() as tx:
            current = flow_backfills.lock(tx, backfill.id)
            if current is not None and current.ended_at is None:
                flow_backfills.save(tx, replace(current, ended_at=now))
        return
    assert project is not None  # backfills have a foreign key
    for part in view.planned[: room.left]:
        _start(deps, project, backfill, part)


def _start(deps: Deps, project: Project, backfill: Backfill, part: BackfillPart) -> None:
    with deps.db.read() as tx:
        runner = runner_of(tx, project, backfill.created_by)
    if runner.actor is None:
        _refuse(deps, part, f"{backfill.created_by} may no longer run flows in project {project.name}.")
        return
    trigger = RunTrigger(type="backfill", by=backfill.created_by, backfill_id=backfill.id)
    asked = StartRun(version=backfill.version, params=part.params, trigger=trigger, noted_by=_Claim(part))
    try:
        starting.start(deps, runner.actor, project, backfill.flow, asked)
    except _NotNow:
        return
    except MillError as error:
        if error.transient:
            raise
        _refuse(deps, part, f"{error.message} {error.hint}" if error.hint else error.message)


class _NotNow(Exception):
    """Another server has started it, there is no room any more, or it was cancelled."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Notes the run of a part in the transaction that makes it."""

    part: BackfillPart

    def __call__(self, tx: Connection, run: FlowRun) -> None:
        backfill = flow_backfills.lock(tx, self.part.backfill_id)
        current = flow_backfills.lock_part(tx, self.part.backfill_id, self.part.number)
        if backfill is None or backfill.cancelled_by is not None or current is None:
            raise _NotNow
        if current.state is not BackfillPartState.PLANNED or run.phase is not FlowRunPhase.RUNNING:
            raise _NotNow
        phases = _phases(tx, flow_backfills.parts(tx, [backfill.id]))
        if sum(not phase.is_finished for _, phase in phases.values()) >= backfill.max_parallel:
            raise _NotNow
        flow_backfills.save_part(tx, replace(current, state=BackfillPartState.STARTED, run_id=run.id))


def _refuse(deps: Deps, part: BackfillPart, reason: str) -> None:
    with deps.db.write() as tx:
        current = flow_backfills.lock_part(tx, part.backfill_id, part.number)
        if current is not None and current.state is BackfillPartState.PLANNED:
            flow_backfills.save_part(tx, replace(current, state=BackfillPartState.REFUSED, reason=reason))


def _room(tx: Connection, view: BackfillView) -> Room:
    backfill = view.backfill
    version = flows.version(tx, backfill.flow_id, backfill.version)
    limit = _read(version).concurrency.limit if version else 0
    return Room(backfill.max_parallel, limit, len(flow_runs.living(tx, backfill.flow_id)), view.going_on)


def _views(tx: Connection, found: Sequence[Backfill]) -> list[BackfillView]:
    parts = flow_backfills.parts(tx, [one.id for one in found])
    phases = _phases(tx, parts)
    by_backfill: dict[str, list[PartView]] = {}
    for part in parts:
        number, phase = phases.get(part.run_id or "", (None, None))
        view = PartView(part, phase.value if phase else part.state.value, number)
        by_backfill.setdefault(part.backfill_id, []).append(view)
    return [BackfillView(one, by_backfill.get(one.id, [])) for one in found]


def _phases(tx: Connection, parts: Sequence[BackfillPart]) -> dict[str, tuple[int, FlowRunPhase]]:
    return flow_backfills.run_phases(tx, [part.run_id for part in parts if part.run_id])


def _planned(number: int, choice: Mapping[str, Any], done: str | None) -> BackfillPart:
    part = BackfillPart(backfill_id="", number=number, params=choice)
    return replace(part, state=BackfillPartState.SKIPPED, reason=f"Done by {done}.") if done else part


def _done(tx: Connection, saved: SavedFlow, version: FlowVersion) -> dict[str, str]:
    """Runs of this version that succeeded or go on, by their parameters."""
    found = flow_backfills.params_of_runs(tx, saved.id, version.number, _DONE)
    return {_key(params): f"{saved.name}#{number}" for number, params in found}


def _key(params: Mapping[str, Any]) -> str:
    return json.dumps(params, sort_keys=True)


def _find(tx: Connection, project: Project, backfill_id: str) -> Backfill:
    found = flow_backfills.get(tx, backfill_id)
    if found is None or found.project_id != project.id:
        raise access.not_found("backfill", backfill_id)
    return found


def _read(version: FlowVersion) -> Flow:
    flow, _, _ = read_flow(version.text)
    if flow is None:  # it was checked when it was saved
        raise Conflict(f"Version {version.number} of the flow cannot be read.")
    return flow
