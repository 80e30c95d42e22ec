"""Applies what rules give somebody: roles in projects, and the administration of the site."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection

from millpond.db import auth_rules, leases, projects, users
from millpond.decide.sign_in_rules import RolePlan, Standing, plan_roles
from millpond.model.people import SYSTEM, Role, User
from millpond.model.sign_in import SITE, GroupRule, Provider
from millpond.services.deps import Deps
from millpond.services.people import audit


def plan(
    tx: Connection, rules: Sequence[GroupRule], provider: Provider, groups: Collection[str] | None, user: User | None
) -> RolePlan:
    """What would become of this user's roles; None for somebody who is new."""
    return plan_roles(rules, provider.id, groups, Standing({}) if user is None else standing_of(tx, user))


def apply(
    tx: Connection,
    deps: Deps,
    rules: Sequence[GroupRule],
    provider: Provider,
    groups: Collection[str] | None,
    user: User,
) -> RolePlan:
    """Inside the transaction of the sign-in, whose caller tells of changed access."""
    planned = plan(tx, rules, provider, groups, user)
    for target, role in planned.changes.items():
        _set(tx, deps, user, target, role, provider)
    if groups is not None:
        auth_rules.set_grants(tx, user.id, provider.id, planned.grants)
    return planned


def standing_of(tx: Connection, user: User) -> Standing:
    """The user's roles now. Projects that they alone administer are locked."""
    roles = dict(projects.roles_of(tx, user.id))
    alone = {project.id for name in projects.only_administered_by(tx, user.id) if (project := projects.find(tx, name))}
    if user.is_admin:
        roles[SITE] = Role.ADMIN
        if users.count_administrators(tx, without=user.id) == 0:
            alone.add(SITE)
    return Standing(roles, auth_rules.grants_of(tx, user.id), alone)


def _set(tx: Connection, deps: Deps, user: User, target: str, role: Role | None, provider: Provider) -> None:
    had = (Role.ADMIN if user.is_admin else None) if target == SITE else projects.roles_of(tx, user.id).get(target)
    if target == SITE:
        users.change(tx, user.id, is_admin=role is Role.ADMIN)
        if role is None:
            leases.release_lost(tx, user.id, but=projects.roles_of(tx, user.id).keys())
    elif role is None:
        projects.remove_member(tx, target, user.id)
        if not user.is_admin:
            leases.release_lost(tx, user.id, project_id=target)
    else:
        projects.set_role(tx, target, user.id, role)
    project = None if target == SITE else projects.get(tx, target)
    audit.record(
        tx,
        now=deps.clock.now(),
        actor=SYSTEM,
        action="member.delete" if role is None else "member.put",
        subject=user.name,
        project_id=target or None,
        details={
            "project": project.name if project else "(site)",
            "role": role.value if role else None,
            "by": f"rules of {provider.name}",
        },
        before={"role": had},
        after={"role": role},
    )
