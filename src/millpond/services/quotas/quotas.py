"""Setting quotas of projects, and what is used of them by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import quotas
from millpond.errors import BadRequest
from millpond.model.people import Actor, Project
from millpond.model.quota import ProjectQuota, QuotaHolder, QuotaKind, QuotaUse
from millpond.services.deps import Deps
from millpond.services.people import access, audit

TOPIC = "quotas"


def change(deps: Deps, actor: Actor, name: str, changes: Mapping[str, int | None]) -> Sequence[QuotaUse]:
    """Set what is given; None lifts a limit. What is used beyond a new limit stays, and nothing is added to it."""
    for field, value in changes.items():
        if value is not None and value < 0:
            raise BadRequest(f"{field} must be 0 or more, not {value}.")
    now = deps.clock.now()
    with deps.db.write() as tx:
        project = access.find_project(tx, actor, name)
        before = quotas.get(tx, project.id)
        after = replace(before, **changes)
        quotas.put(tx, project.id, after, by=actor.name, now=now)
        audit.record(
            tx, now=now, actor=actor, action="project.quota", subject=name, project_id=project.id,
            before=audit.values_of(before, *changes), after=audit.values_of(after, *changes),
        )  # fmt: skip
    deps.events.wake(TOPIC)
    deps.events.wake("schedule")
    return usage(deps, project)


def usage(deps: Deps, project: Project) -> Sequence[QuotaUse]:
    """Of each kind how much is used, the quota, and who has most of it."""
    with deps.db.read() as tx:
        quota = quotas.get(tx, project.id)
        return [use_of(tx, deps.clock.now(), project.id, kind, quota) for kind in QuotaKind]


def use_of(tx: Connection, now: datetime, project_id: str, kind: QuotaKind, quota: ProjectQuota) -> QuotaUse:
    if kind is QuotaKind.LAKE:
        used, holders = quotas.lake_bytes(tx, project_id, now), _named(tx, quotas.lake_holders(tx, project_id))
    elif kind is QuotaKind.CACHED:
        used, holders = quotas.cached_bytes(tx, project_id), quotas.cached_holders(tx, project_id)
    elif kind is QuotaKind.JOBS:
        holders = quotas.jobs_at_work(tx, project_id)
        used = sum(count for _, count in holders)
    else:
        minute = int(now.timestamp() // 60)
        # Of a minute that has just begun there is little to see.
        holders = max((quotas.calls(tx, project_id, one) for one in (minute, minute - 1)), key=_total)
        used = _total(holders)
    return QuotaUse(kind, quota.of(kind), used, tuple(QuotaHolder(name, amount) for name, amount in holders))


def limits_of_jobs(tx: Connection) -> Mapping[str, int]:
    """How many jobs a project may have at work, by project, where that is limited."""
    return {project_id: one.jobs for project_id, one in quotas.all_of(tx).items() if one.jobs is not None}


def _total(holders: quotas.Holders) -> int:
    return sum(amount for _, amount in holders)


def _named(tx: Connection, holders: quotas.Holders) -> quotas.Holders:
    """People by name; what jobs, workspaces and the server itself sent together."""
    people = [owner.removeprefix("user:") for owner, _ in holders if owner.startswith("user:")]
    names = quotas.names_of_users(tx, people)
    found: dict[str, int] = {}
    for owner, amount in holders:
        kind, _, key = owner.partition(":")
        name = names.get(key, "a user who is gone") if kind == "user" else _OTHERS.get(kind, "imports and others")
        found[name] = found.get(name, 0) + amount
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))


_OTHERS = {"placement": "jobs", "workspace": "workspaces"}
