"""Starts the runs of triggers. What was noticed is claimed in the transaction that makes its run, so that it starts one
run: by the server that noticed it, or by the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import commits, datasets, flow_firings, flow_triggers, flows, projects
from millpond.decide.flows.reader import read_flow
from millpond.decide.flows.triggers.paths import first_match
from millpond.errors import Conflict, MillError
from millpond.lake.diff import diff_trees
from millpond.model.dataset import Commit, Dataset
from millpond.model.flow_run import FlowRun, FlowRunPhase, RunTrigger
from millpond.model.flow_trigger import Firing, FiringState, SavedTrigger, TriggerType
from millpond.model.people import SYSTEM, Project
from millpond.services.datasets.reading import pages_of, reader_of
from millpond.services.deps import Deps
from millpond.services.flows import starting
from millpond.services.flows.starting import StartRun
from millpond.services.flows.triggers.rights import Runner, run_as_name, runner_of
from millpond.services.people import access, audit

logger = getLogger(__name__)

TOPIC = "triggers"
AT_ONCE = 100
# Starts that may fail for a reason nobody expected.
_TRIES = 5


def start_due(deps: Deps, now: datetime) -> int:
    """Start the runs of what was noticed and whose time has come, some at once; how many have ended by that."""
    with deps.db.read() as tx:
        found = flow_firings.due(tx, now, limit=AT_ONCE)
    ended = 0
    for one in found:
        try:
            start(deps, one)
            ended += 1
        except MillError as error:  # the lake is away, or the like: it stays
            logger.warning("trigger_waits firing=%s reason=%s", one.id, error.message)
        except Exception:  # one that cannot start keeps no other from it
            logger.exception("trigger_failed firing=%s", one.id)
            _count_try(deps, one)
    return ended


def start(deps: Deps, firing: Firing) -> Firing:
    """Start its run, or note why there is none; the firing as it ended. Raises what may be better later."""
    loaded = _load(deps, firing)
    if isinstance(loaded, _Ending):
        return _end(deps, firing, loaded)
    if (why := _why_not(deps, loaded, firing)) is not None:
        return _end(deps, firing, why)
    assert loaded.runner.actor is not None  # else there was a reason
    asked = StartRun(params=firing.params, trigger=_run_trigger(loaded, firing), noted_by=_Claim(deps, firing))
    try:
        starting.start(deps, loaded.runner.actor, loaded.project, loaded.trigger.flow, asked)
    except _Taken:
        pass
    except MillError as error:
        if error.transient:
            raise
        reason = f"{error.message} {error.hint}" if error.hint else error.message
        return _end(deps, firing, _Ending(FiringState.REFUSED, reason))
    return _again(deps, firing)


@dataclass(frozen=True, slots=True)
class _Loaded:
    project: Project
    trigger: SavedTrigger
    runner: Runner


@dataclass(frozen=True, slots=True)
class _Ending:
    """Why a firing starts no run. `disable`: nor does its trigger any other."""

    state: FiringState
    reason: str
    disable: bool = False


class _Taken(Exception):
    """Another server has started it."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Notes the run of a firing in the transaction that makes it."""

    deps: Deps
    firing: Firing

    def __call__(self, tx: Connection, run: FlowRun) -> None:
        trigger = flow_triggers.lock(tx, self.firing.trigger_id)
        current = flow_firings.lock(tx, self.firing.id)
        if current is None or current.ended_at is not None:
            raise _Taken
        state = FiringState.SKIPPED if run.phase is FlowRunPhase.SKIPPED else FiringState.FIRED
        now = self.deps.clock.now()
        ended = replace(
            current, state=state, reason=run.reason, run_id=run.id, run_number=run.number, ended_at=now
        )  # fmt: skip
        flow_firings.save(tx, ended)
        if trigger is not None and state is FiringState.FIRED:
            flow_triggers.save(tx, replace(trigger, fired_at=now))


def _load(deps: Deps, firing: Firing) -> _Loaded | _Ending:
    with deps.db.read() as tx:
        trigger = flow_triggers.get(tx, firing.trigger_id)
        project = projects.get(tx, firing.project_id)
        saved = flows.get(tx, firing.flow_id)
        version = flows.version(tx, saved.id, saved.newest) if saved else None
        flow = read_flow(version.text)[0] if version else None
        if trigger is None or project is None or version is None or flow is None:
            return _Ending(FiringState.REFUSED, "The trigger, or its flow, was removed.")
        return _Loaded(project, trigger, runner_of(tx, project, run_as_name(flow, version)))


def _why_not(deps: Deps, loaded: _Loaded, firing: Firing) -> _Ending | None:
    trigger = loaded.trigger
    if not trigger.is_enabled and not firing.manual:
        return _Ending(FiringState.SKIPPED, "The trigger is disabled.")
    if loaded.runner.actor is None:
        return _Ending(FiringState.REFUSED, loaded.runner.reason, disable=True)
    if trigger.watched is not None and not access.sees(loaded.runner.actor, trigger.watched.project_id):
        reason = f"{loaded.runner.name}, who the flow runs as, no longer sees {trigger.settings['ref']}."
        return _Ending(FiringState.REFUSED, reason, disable=True)
    patterns = trigger.settings.get("paths") if trigger.type is TriggerType.COMMIT else None
    if not patterns or firing.manual:
        return None
    changed = _changed_paths(deps, trigger, firing)
    if changed is None:
        return _Ending(FiringState.REFUSED, f"Commit {(firing.commit or '')[:12]} no longer exists.")
    if first_match(patterns, changed) is None:
        return _Ending(FiringState.SKIPPED, f"No file that changed matches {', '.join(patterns)}.")
    return None


def _changed_paths(deps: Deps, trigger: SavedTrigger, firing: Firing) -> Iterator[bytes] | None:
    """What differs from the commit before; everything if there was none. None if the commit is gone."""
    assert trigger.watched is not None  # it is a commit trigger
    with deps.db.read() as tx:
        dataset: Dataset | None = datasets.find(tx, trigger.watched.project_id, trigger.watched.dataset)
        commit: Commit | None = commits.get(tx, firing.commit or "")
        base = commits.get(tx, firing.base) if firing.base else None
    if dataset is None or commit is None:
        return None
    if base is None:
        return (entry.path for entry in reader_of(deps, dataset, commit).entries())
    return (change.path for change in diff_trees(pages_of(deps, dataset), base.tree, commit.tree))


def _run_trigger(loaded: _Loaded, firing: Firing) -> RunTrigger:
    return RunTrigger(
        type=loaded.trigger.type.value, by=firing.by, commit=firing.commit, scheduled_at=firing.scheduled_at,
        trigger_id=loaded.trigger.id,
    )  # fmt: skip


def _end(deps: Deps, firing: Firing, ending: _Ending) -> Firing:
    now = deps.clock.now()
    with deps.db.write() as tx:
        trigger = flow_triggers.lock(tx, firing.trigger_id)
        current = flow_firings.lock(tx, firing.id)
        if current is None:
            raise Conflict("What set off the trigger was removed.")
        if current.ended_at is not None:
            return current
        ended = replace(current, state=ending.state, reason=ending.reason, ended_at=now)
        flow_firings.save(tx, ended)
        if ending.disable and trigger is not None and trigger.is_enabled:
            disabled = replace(trigger, disabled_at=now, disabled_by=SYSTEM.name, disabled_reason=ending.reason)
            flow_triggers.save(tx, disabled)
            project = projects.get(tx, trigger.project_id)
            audit.record(tx, now=now, actor=SYSTEM, action="flow.disable-trigger",
                         subject=f"{project.name if project else ''}/{trigger.flow}", project_id=trigger.project_id,
                         details={"trigger": trigger.id, "reason": ending.reason})  # fmt: skip
    announce(deps, ended)
    return ended


def announce(deps: Deps, firing: Firing) -> None:
    """Tell open pages that a trigger has fired, or changed."""
    data = {"id": firing.trigger_id, "what": firing.state.value, "flow_id": firing.flow_id}
    deps.events.publish("flow-triggers", project_id=firing.project_id, data=data)


def _again(deps: Deps, firing: Firing) -> Firing:
    with deps.db.read() as tx:
        found = flow_firings.get(tx, firing.id)
    assert found is not None  # it was claimed
    announce(deps, found)
    return found


def _count_try(deps: Deps, firing: Firing) -> None:
    if firing.tries + 1 >= _TRIES:
        _end(deps, firing, _Ending(FiringState.REFUSED, "Unexpected error; see the server's log."))
        return
    with deps.db.write() as tx:
        current = flow_firings.lock(tx, firing.id)
        if current is not None and current.ended_at is None:
            flow_firings.save(tx, replace(current, tries=current.tries + 1))
