"""Rules from groups to roles: added and removed by site administrators, applied at each sign-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from millpond.db import auth_providers, auth_rules, identities, projects, users
from millpond.errors import Invalid, MillError
from millpond.model.ids import new_id
from millpond.model.people import Actor, Role, User
from millpond.model.sign_in import SITE, Claims, GroupRule, Provider, ProviderKind
from millpond.services.deps import Deps
from millpond.services.people import access, audit
from millpond.services.sign_in import granted
from millpond.services.sign_in.oidc import read_claims
from millpond.services.sign_in.providers import find as find_provider

_MOST_RULES = 1_000


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule with the names of what it speaks of; `project` None for the administration of the site."""

    rule: GroupRule
    provider: str | None
    project: str | None


@dataclass(frozen=True, slots=True)
class ReasonView:
    project: str | None
    before: Role | None
    after: Role | None
    text: str


@dataclass(frozen=True, slots=True)
class Tried:
    """What signing in with some claims would lead to. `user` None: an account would be made, or nobody let in."""

    user: str | None
    name: str
    groups: Sequence[str] | None
    reasons: Sequence[ReasonView] = ()
    refused: str | None = None


def list_all(deps: Deps) -> Sequence[RuleView]:
    with deps.db.read() as tx:
        providers = {one.id: one.name for one in auth_providers.all_of(tx)}
        found = auth_rules.all_of(tx)
        names = _names(tx, [rule.target for rule in found])
    return [RuleView(rule, providers.get(rule.provider_id or ""), names.get(rule.target)) for rule in found]


def create(
    deps: Deps, actor: Actor, *, group: str, project: str | None, role: Role | None, provider: str | None
) -> RuleView:
    """`project` None: administrators of the site. People get it at their next sign-in."""
    if not 1 <= len(group) <= 300 or "\0" in group:
        raise Invalid("The name of a group must have 1 to 300 characters.", fields=["group"])
    if project is None and set(group) == {"*"}:
        raise Invalid("Everybody would be a site administrator.", hint="Name a group.", fields=["group"])
    if project is not None and role is None:
        raise Invalid("The role is missing.", hint="One of viewer, member, admin.", fields=["role"])
    now = deps.clock.now()
    with deps.db.write() as tx:
        of = find_provider(tx, provider) if provider else None
        target = access.find_project(tx, actor, project).id if project else SITE
        rule = GroupRule(
            new_id(), of.id if of else None, group, target, role if project and role else Role.ADMIN, now, actor.name
        )
        known = auth_rules.all_of(tx)
        if len(known) >= _MOST_RULES:
            raise Invalid(f"There can be at most {_MOST_RULES} rules.", hint="Use groups of groups, or `*`.")
        auth_rules.insert(tx, rule)
        _audit(tx, deps, actor, "auth-rule.create", RuleView(rule, provider, project))
    return RuleView(rule, provider, project)


def delete(deps: Deps, actor: Actor, rule_id: str) -> None:
    """What it gave goes at the next sign-in of each."""
    with deps.db.write() as tx:
        rule = auth_rules.find(tx, rule_id)
        if rule is None:
            raise access.not_found("rule", rule_id, [one.id for one in auth_rules.all_of(tx)])
        auth_rules.delete(tx, rule_id)
        provider = auth_providers.get(tx, rule.provider_id) if rule.provider_id else None
        view = RuleView(rule, provider.name if provider else None, _names(tx, [rule.target]).get(rule.target))
        _audit(tx, deps, actor, "auth-rule.delete", view)


def test(deps: Deps, provider_name: str, document: Mapping[str, Any]) -> Tried:
    """What would happen to somebody with these claims, and why. Nothing is changed.

    For a directory, `document` has `username` and `groups`.
    """
    with deps.db.read() as tx:
        provider = find_provider(tx, provider_name)
        try:
            claims = _claims(provider, document)
        except MillError as error:
            return Tried(None, "", None, refused=f"{error.message} {error.hint or ''}".strip())
        known = identities.find(tx, claims.issuer, claims.subject)
        user: User | None = users.get(tx, known.user_id) if known else None
        planned = granted.plan(tx, auth_rules.all_of(tx), provider, claims.groups, user)
        names = _names(tx, [reason.target for reason in planned.reasons])
    refused = f"The account {user.name!r} is disabled." if user and user.disabled_at else None
    return Tried(
        user=user.name if user else None,
        name=claims.name,
        groups=None if claims.groups is None else sorted(claims.groups),
        reasons=[ReasonView(names.get(one.target), one.before, one.after, one.text) for one in planned.reasons],
        refused=refused,
    )


def _claims(provider: Provider, document: Mapping[str, Any]) -> Claims:
    if provider.kind is ProviderKind.OIDC:
        return read_claims(provider, {"sub": "(unknown)", **document})
    groups = document.get("groups", [])
    listed = [one for one in groups if isinstance(one, str)] if isinstance(groups, list) else []
    return Claims("", "", str(document.get("username", "")), groups=frozenset(listed))


def _names(tx: Connection, project_ids: Sequence[str]) -> Mapping[str, str]:
    return projects.names_of(tx, {one for one in project_ids if one != SITE})


def _audit(tx: Connection, deps: Deps, actor: Actor, action: str, view: RuleView) -> None:
    gives = f"{view.rule.role.value} of {view.project}" if view.project else "site administrator"
    told = {"group": view.rule.group, "gives": gives, "provider": view.provider}
    is_made = action == "auth-rule.create"
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=view.rule.group,
        before=None if is_made else told, after=told if is_made else None,
    )  # fmt: skip
