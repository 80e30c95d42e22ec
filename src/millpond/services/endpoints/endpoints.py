"""Endpoints: create, find, list, change and delete them. `rounds.py` turns them into replicas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import endpoint_tokens, endpoints, sites
from millpond.decide.endpoints.changes import (
    number_to_restore,
    promoted,
    rollout_of,
    scaled,
    sites_of,
    wanted_at_first,
    with_canary,
    without_canary,
)
from millpond.errors import BadRequest, Conflict, NameTaken
from millpond.model.endpoint import Endpoint, EndpointRevision, EndpointState, EndpointView
from millpond.model.endpoint_spec import EndpointSpec
from millpond.model.ids import new_job_id
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.endpoints import checking
from millpond.services.endpoints.views import views
from millpond.services.listing import Listing, decode, page_of
from millpond.services.people import access, audit

# Wakes the loop.
TOPIC = "endpoints"

# The spec of the next revision.
Change = Callable[[Connection, Endpoint], EndpointSpec]


def create(deps: Deps, actor: Actor, project: Project, text: str, *, unchecked: bool = False) -> EndpointView:
    """From the text of `endpoint.yaml`, or the same as JSON. NameTaken if the project has one of that name.

    Conflict for a version that has not passed its check, here and in what changes versions, unless `unchecked`.
    """
    access.require(actor, project, Role.MEMBER)
    asked = checking.read(text)
    now = deps.clock.now()
    with deps.db.write() as tx:
        spec = checking.resolved(tx, project, asked)
        if not unchecked:
            checking.require_checked(tx, project, spec.served)
        endpoint = Endpoint(
            id=new_job_id(), project_id=project.id, project=project.name, name=spec.name, created_by=actor.name,
            user_id=actor.user_id or "", created_at=now, changed_at=now, spec=spec,
            weights=tuple(one.weight for one in spec.versions), rollout=rollout_of(spec, now),
            wanted=wanted_at_first({}, sites_of(spec, sites.all_of(tx))), reasons=(f"Created by {actor.name}.",),
        )  # fmt: skip
        first = EndpointRevision(endpoint.id, 1, spec, actor.name, now, action="create")
        try:
            with tx.begin_nested():
                endpoints.insert(tx, endpoint, first)
        except IntegrityError as error:
            raise _taken(tx, project, spec.name) from error
        _record(tx, deps, actor, endpoint, "endpoint.create", after=_spec_of(endpoint))
    _told(deps, endpoint)
    return get(deps, project, endpoint.id)


def find(tx: Connection, project: Project, written: str) -> Endpoint:
    """By name or id; NotFound with the nearest names."""
    found = endpoints.find(tx, project.id, written)
    if found is None:
        raise access.not_found("endpoint", written, endpoints.names(tx, project.id))
    return found


def get(deps: Deps, project: Project, written: str) -> EndpointView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, project, written)], deps.clock.now())[0]


def list_endpoints(
    deps: Deps, actor: Actor, *, project: str | None, limit: int, cursor: str | None
) -> Listing[EndpointView]:
    """Of one project, or of all that the actor can see, by project and name."""
    with deps.db.read() as tx:
        among = [access.find_project(tx, actor, project, Role.VIEWER).id] if project else access.visible_projects(actor)
        found = endpoints.page(tx, projects=among, after=_place(cursor), limit=limit + 1)
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda view: [view.endpoint.project, view.endpoint.name])


def list_revisions(deps: Deps, project: Project, written: str) -> Sequence[EndpointRevision]:
    """Newest first."""
    with deps.db.read() as tx:
        return endpoints.revisions(tx, find(tx, project, written).id)


def update(
    deps: Deps, actor: Actor, project: Project, written: str, text: str, *, expected: int | None = None,
    unchecked: bool = False,
) -> EndpointView:  # fmt: skip
    """A revision from a whole new text. Conflict if somebody else made one after `expected`; its name stays."""
    asked = checking.read(text)

    def changed(tx: Connection, before: Endpoint) -> EndpointSpec:
        if expected is not None and expected != before.number:
            raise Conflict(
                f"Endpoint {before.name!r} has changed: its newest revision is {before.number}, not {expected}.",
                hint=f"Look at it and try again: mill endpoint show {before.name}",
            )
        if asked.name != before.name:
            raise BadRequest(
                f"The text names the endpoint {asked.name!r}, not {before.name!r}.", hint="An endpoint keeps its name."
            )
        return asked

    return revise(deps, actor, project, written, "update", changed, unchecked=unchecked)


def scale(
    deps: Deps, actor: Actor, project: Project, written: str, *, site: str | None, least: int | None, most: int | None
) -> EndpointView:
    """Other limits of replicas, at one site or at all."""
    return revise(deps, actor, project, written, "scale", lambda _, one: scaled(one.spec, site, least, most))


def canary(
    deps: Deps, actor: Actor, project: Project, written: str, *, model: str, weight: int, unchecked: bool = False
) -> EndpointView:
    """Give a share of the traffic to another version. With a rule for rollouts, its share then grows by itself."""

    def changed(tx: Connection, before: Endpoint) -> EndpointSpec:
        return with_canary(before, checking.numbered(tx, project, model), weight)

    return revise(deps, actor, project, written, "canary", changed, unchecked=unchecked)


def promote(deps: Deps, actor: Actor, project: Project, written: str, *, reason: str = "") -> EndpointView:
    """All traffic for the canary."""
    return revise(deps, actor, project, written, "promote", lambda _, one: promoted(one), reason=reason)


def roll_back(
    deps: Deps, actor: Actor, project: Project, written: str, *, to: int | None = None, reason: str = ""
) -> EndpointView:
    """The revision before this one, or the one named, as a new revision."""
    restored: list[int] = []

    def changed(tx: Connection, before: Endpoint) -> EndpointSpec:
        newest = endpoints.get_revision(tx, before.id, before.number)
        assert newest is not None, "an endpoint has the revision that it names"
        number = number_to_restore(before, newest, to)
        found = endpoints.get_revision(tx, before.id, number)
        assert found is not None, "revisions are never removed"
        restored.append(number)
        return found.spec

    return revise(deps, actor, project, written, "rollback", changed, restored=restored, reason=reason)


def abandon_canary(deps: Deps, actor: Actor, project: Project, written: str, *, reason: str) -> EndpointView:
    """All traffic for the version that the canary was to replace."""
    return revise(deps, actor, project, written, "rollback", lambda _, one: without_canary(one), reason=reason)


def delete(deps: Deps, actor: Actor, project: Project, written: str) -> None:
    """Drain and stop its replicas; the record goes when they have ended. The jobs of its replicas stay."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.write() as tx:
        before = endpoints.lock(tx, find(tx, project, written).id)
        if before is None or before.deleted_at is not None:
            return
        now = deps.clock.now()
        after = replace(
            before, deleted_at=now, changed_at=now, state=EndpointState.DELETING, wanted={}, rollout=None,
            failure=None,
            reasons=(f"Deleted by {actor.name}.",),
        )  # fmt: skip
        endpoints.save(tx, after)
        endpoint_tokens.revoke(tx, after.id, now)
        _record(tx, deps, actor, after, "endpoint.delete", before=_spec_of(before))
    _told(deps, after)


def announce(deps: Deps, endpoint: Endpoint) -> None:
    """Tell open pages."""
    data = {"project": endpoint.project, "id": endpoint.id, "name": endpoint.name, "state": endpoint.state.value}
    deps.events.publish(TOPIC, project_id=endpoint.project_id, data={**data, "what": "changed"})


def revise(
    deps: Deps, actor: Actor, project: Project, written: str, action: str, change: Change, *,
    restored: Sequence[int] = (), reason: str = "", unchecked: bool = True,
) -> EndpointView:  # fmt: skip
    """The next revision, unless it asks for the same as this one."""
    access.require(actor, project, Role.MEMBER)
    now = deps.clock.now()
    with deps.db.write() as tx:
        before = endpoints.lock(tx, find(tx, project, written).id)
        if before is None or before.deleted_at is not None:
            raise Conflict(f"Endpoint {written!r} is being deleted.", hint="Create it again once that is done.")
        spec = checking.resolved(tx, project, change(tx, before), before.id)
        if not unchecked:
            checking.require_checked(tx, project, spec.served - before.spec.served)
        weights = tuple(one.weight for one in spec.versions)
        if spec == before.spec and weights == before.weights:
            return views(tx, [before], now)[0]
        number = before.number + 1
        endpoints.add_revision(
            tx,
            EndpointRevision(
                before.id, number, spec, actor.name, now, action=action, restores=next(iter(restored), None),
                reason=reason,
            ),
        )  # fmt: skip
        places = sites_of(spec, sites.all_of(tx))
        after = replace(
            before, spec=spec, number=number, weights=weights, rollout=rollout_of(spec, now), changed_at=now,
            user_id=actor.user_id or before.user_id, wanted=wanted_at_first(before.wanted, places),
            state=_changing(before.state), failure=None, scale_reasons={},
            reasons=(f"Revision {number}: {action} by {actor.name}.", *([reason] if reason else [])),
        )  # fmt: skip
        endpoints.save(tx, after)
        _record(
            tx,
            deps,
            actor,
            after,
            f"endpoint.{action}",
            revision=number,
            before=_spec_of(before),
            after=_spec_of(after),
        )
    _told(deps, after)
    return get(deps, project, after.id)


def _changing(state: EndpointState) -> EndpointState:
    """Until the loop has looked: whoever waits for the change must not take the state before for the one after."""
    is_serving = state in (EndpointState.READY, EndpointState.DEGRADED, EndpointState.UPDATING)
    return EndpointState.UPDATING if is_serving else EndpointState.STARTING


def _told(deps: Deps, endpoint: Endpoint) -> None:
    announce(deps, endpoint)
    deps.events.wake(TOPIC)


def _taken(tx: Connection, project: Project, name: str) -> NameTaken:
    other = endpoints.find(tx, project.id, name)
    if other is not None and other.deleted_at is not None:
        return NameTaken(f"Endpoint {name!r} is being deleted.", hint="Create it again once that is done.")
    return NameTaken(
        f"Endpoint {name!r} already exists.", hint=f"Change it: mill endpoint update {name}, or choose another name."
    )


def _spec_of(endpoint: Endpoint) -> dict[str, Any]:
    """What is asked of an endpoint, for the audit log."""
    return {**audit.values_of(endpoint.spec), "weights": endpoint.weights}


def _record(
    tx: Connection, deps: Deps, actor: Actor, endpoint: Endpoint, action: str, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None, **details: object,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{endpoint.project}/{endpoint.name}",
        project_id=endpoint.project_id, details={"endpoint": endpoint.id, **details}, before=before, after=after,
    )  # fmt: skip


def _place(cursor: str | None) -> tuple[str, str]:
    match decode(cursor) if cursor else ["", ""]:
        case [str(project), str(name)]:
            return project, name
        case _:
            raise BadRequest(f"{cursor!r} is not a cursor of this list.")
