"""Triggers as people see and change them: list, enable, disable, fire by hand, secrets of webhooks, history."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from millpond.db import datasets, flow_firings, flow_triggers, flows
from millpond.decide.flows.reader import read_flow
from millpond.decide.flows.triggers.problems import TriggerFacts, problem_of
from millpond.errors import BadRequest, Conflict
from millpond.model.flow_trigger import Firing, FiringState, SavedTrigger, TriggerType
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.flows import saving
from millpond.services.flows.triggers import firing as firings
from millpond.services.flows.triggers.hooks import purpose
from millpond.services.flows.triggers.keeping import from_now_on, head_of
from millpond.services.flows.triggers.noticing import new_firing
from millpond.services.flows.triggers.rights import Runner, run_as_name, runner_of
from millpond.services.listing import Listing, page_of
from millpond.services.people import access, audit
from millpond.services.time_cursors import moment_of, written_moment

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class TriggerView:
    """`problem` says why it does not fire at present."""

    trigger: SavedTrigger
    run_as: str
    problem: str = ""
    newest: Firing | None = None


def list_all(deps: Deps, project: Project, flow: str | None = None) -> Sequence[TriggerView]:
    """Of one flow or of the whole project, in the order of their files."""
    with deps.db.read() as tx:
        if flow is None:
            found = flow_triggers.of_project(tx, project.id)
        else:
            found = flow_triggers.of_flows(tx, [saving.find(tx, project, flow).id])
        return _views(tx, project, found)


def get(deps: Deps, project: Project, flow: str, trigger: str) -> TriggerView:
    """By id, place in the file (from 1), or name of a webhook."""
    with deps.db.read() as tx:
        return _views(tx, project, [_find(tx, project, flow, trigger)])[0]


def disable(deps: Deps, actor: Actor, project: Project, flow: str, trigger: str) -> TriggerView:
    """It starts nothing until it is enabled. No effect on one that is disabled."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = _lock(tx, project, flow, trigger)
        if found.is_enabled:
            found = replace(found, disabled_at=now, disabled_by=actor.name, disabled_reason="")
            flow_triggers.save(tx, found)
            _audit(tx, deps, actor, project, found, "flow.disable-trigger", enabled=False)
    return _changed(deps, project, found, "disabled")


def enable(deps: Deps, actor: Actor, project: Project, flow: str, trigger: str) -> TriggerView:
    """It fires again from now on; what happened meanwhile is not made up for. Conflict while whoever the flow runs as
    may not run it."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = _lock(tx, project, flow, trigger)
        if not found.is_enabled:
            runner = _runner(tx, project, found.flow_id)
            if runner.actor is None:
                raise Conflict(f"Cannot enable the trigger: {runner.reason}")
            enabled = replace(found, disabled_at=None, disabled_by=None, disabled_reason="")
            found = from_now_on(tx, enabled, now)
            flow_triggers.save(tx, found)
            _audit(tx, deps, actor, project, found, "flow.enable-trigger", enabled=True)
    return _changed(deps, project, found, "enabled")


def rotate_secret(deps: Deps, actor: Actor, project: Project, flow: str, trigger: str) -> tuple[TriggerView, str]:
    """A new secret of a webhook, which is shown this once. The one before is of no use from now on."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = _lock(tx, project, flow, trigger)
        if found.type is not TriggerType.WEBHOOK:
            raise BadRequest(f"Only webhooks have a secret; this is a {found.type.value} trigger.")
        found = replace(found, secret=deps.seal.seal(secret, purpose(found.id)), secret_at=now)
        flow_triggers.save(tx, found)
        _audit(tx, deps, actor, project, found, "flow.rotate-secret")
    return _changed(deps, project, found, "secret"), secret


def fire(
    deps: Deps, actor: Actor, project: Project, flow: str, trigger: str, params: Mapping[str, Any] | None = None
) -> Firing:
    """Start a run as the trigger would now, enabled or not. Conflict if it starts none."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = _find(tx, project, flow, trigger)
        value = replace(
            new_firing(found, f"manual:{new_id(16)}", now, by=actor.name),
            manual=True,
            params=dict(params or {}),
            commit=head_of(tx, found.watched) if found.watched else None,
            scheduled_at=now if found.type is TriggerType.CRON else None,
        )
        flow_firings.insert(tx, value)
        _audit(tx, deps, actor, project, found, "flow.fire-trigger")
    ended = firings.start(deps, value)
    if ended.state is FiringState.REFUSED:
        raise Conflict(f"The flow was not started: {ended.reason}", firing=ended.id)
    return ended


def history(
    deps: Deps, project: Project, flow: str, *, trigger: str | None, states: Collection[FiringState] | None,
    limit: int, cursor: str | None,
) -> Listing[Firing]:  # fmt: skip
    """What set triggers of a flow off, newest first; also those of triggers that newer versions do not have."""
    with deps.db.read() as tx:
        flow_id = saving.find(tx, project, flow).id
        only = _find(tx, project, flow, trigger).id if trigger is not None else None
        found = flow_firings.page(
            tx, flow_id, trigger_id=only, states=states, limit=limit + 1, before=moment_of(cursor)
        )  # fmt: skip
    return page_of(found, limit, key=lambda one: written_moment(one.created_at, one.id))


def _views(tx: Connection, project: Project, found: Sequence[SavedTrigger]) -> list[TriggerView]:
    runners = {flow_id: _runner(tx, project, flow_id) for flow_id in {one.flow_id for one in found}}
    newest = flow_firings.newest(tx, [one.id for one in found])
    names = set(flows.names(tx, project.id)) if any(one.upstream for one in found) else set()
    return [
        TriggerView(
            one,
            runners[one.flow_id].name,
            problem_of(one, _facts(tx, one, runners[one.flow_id], names)),
            newest.get(one.id),
        )
        for one in found
    ]


def _facts(tx: Connection, trigger: SavedTrigger, runner: Runner, names: Collection[str]) -> TriggerFacts:
    if trigger.watched is not None:
        dataset = datasets.find(tx, trigger.watched.project_id, trigger.watched.dataset)
        return TriggerFacts(runner.reason, dataset is not None, head_of(tx, trigger.watched) is not None)
    if trigger.upstream is not None:
        return TriggerFacts(runner.reason, upstream=trigger.upstream in names)
    return TriggerFacts(runner.reason)


def _runner(tx: Connection, project: Project, flow_id: str) -> Runner:
    saved = flows.get(tx, flow_id)
    version = flows.version(tx, flow_id, saved.newest) if saved else None
    flow = read_flow(version.text)[0] if version else None
    if version is None or flow is None:
        return Runner("", None, "The flow was removed.")
    return runner_of(tx, project, run_as_name(flow, version))


def _find(tx: Connection, project: Project, flow: str, text: str) -> SavedTrigger:
    known = flow_triggers.of_flows(tx, [saving.find(tx, project, flow).id])
    for one in known:
        if text in (one.id, str(one.position)) or (one.type is TriggerType.WEBHOOK and text == one.settings["name"]):
            return one
    raise access.not_found("trigger", text, [one.settings["name"] for one in known if "name" in one.settings])


def _lock(tx: Connection, project: Project, flow: str, text: str) -> SavedTrigger:
    found = flow_triggers.lock(tx, _find(tx, project, flow, text).id)
    if found is None:
        raise access.not_found("trigger", text)
    return found


def _changed(deps: Deps, project: Project, trigger: SavedTrigger, what: str) -> TriggerView:
    data = {"id": trigger.id, "what": what, "flow": trigger.flow, "flow_id": trigger.flow_id}
    deps.events.publish("flow-triggers", project_id=trigger.project_id, data=data)
    deps.events.wake(firings.TOPIC)
    with deps.db.read() as tx:
        return _views(tx, project, [trigger])[0]


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project, trigger: SavedTrigger, action: str,
    *, enabled: bool | None = None,
) -> None:  # fmt: skip
    before, after = (None, None) if enabled is None else ({"enabled": not enabled}, {"enabled": enabled})
    audit.record(tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{project.name}/{trigger.flow}",
                 project_id=project.id, details={"trigger": trigger.id, "type": trigger.type.value},
                 before=before, after=after)  # fmt: skip
