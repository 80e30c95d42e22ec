"""Which roles the groups of somebody give them at a login, and what becomes of those that rules gave before.

Rules give and take only what is theirs: a role given by hand is never lowered or removed, and comes back when the rule
that raised it no longer applies. The last administrator of a project or of the site stays one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.model.people import Role
from millpond.model.sign_in import SITE, GroupRule, RuleGrant


@dataclass(frozen=True, slots=True)
class RoleReason:
    """What becomes of one role, and why. `after` None: no role."""

    target: str
    before: Role | None
    after: Role | None
    text: str
    rule_id: str | None = None


@dataclass(frozen=True, slots=True)
class RolePlan:
    # Only what is to be changed.
    changes: Mapping[str, Role | None]
    # All that this provider gives from now on.
    grants: Sequence[RuleGrant]
    reasons: Sequence[RoleReason]


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody has now: roles by project (or SITE), what rules gave of that, and where they are the only
    administrator."""

    roles: Mapping[str, Role]
    grants: Sequence[RuleGrant] = ()
    alone: Collection[str] = ()


def matching(rules: Iterable[GroupRule], provider_id: str, groups: Collection[str]) -> list[GroupRule]:
    """Rules of this provider, or of all, that one of the groups fulfils; in the order given."""
    return [
        rule
        for rule in rules
        if rule.provider_id in (None, provider_id) and any(_fits(rule.group, group) for group in groups)
    ]


def plan_roles(
    rules: Iterable[GroupRule], provider_id: str, groups: Collection[str] | None, standing: Standing
) -> RolePlan:
    """With `groups` None (the provider did not tell them) everything stays as it is."""
    own = [grant for grant in standing.grants if grant.provider_id == provider_id]
    if groups is None:
        text = "the provider did not tell the groups, so roles stay as they are"
        return RolePlan({}, own, [RoleReason(SITE, None, None, text)])
    wanted: dict[str, GroupRule] = {}
    for rule in matching(rules, provider_id, groups):
        known = wanted.get(rule.target)
        if known is None or not known.role.includes(rule.role):
            wanted[rule.target] = rule
    changes: dict[str, Role | None] = {}
    grants: list[RuleGrant] = []
    reasons: list[RoleReason] = []
    for target in sorted({*wanted, *(grant.target for grant in own)}):
        step = _decide(target, wanted.get(target), provider_id, standing)
        reasons.append(step.reason)
        if step.reason.after is not standing.roles.get(target):
            changes[target] = step.reason.after
        if step.grant is not None:
            grants.append(step.grant)
    return RolePlan(changes, grants, reasons)


@dataclass(frozen=True, slots=True)
class _Step:
    reason: RoleReason
    grant: RuleGrant | None


def _decide(target: str, rule: GroupRule | None, provider_id: str, standing: Standing) -> _Step:
    now = standing.roles.get(target)
    given = [grant for grant in standing.grants if grant.target == target]
    by_hand = given[0].before if given else now
    elsewhere = [grant.role for grant in given if grant.provider_id != provider_id]
    grant = None if rule is None else RuleGrant(target, provider_id, rule.role, by_hand)
    after = _greatest([by_hand, *elsewhere, *([rule.role] if rule else [])])
    if now is Role.ADMIN and after is not Role.ADMIN and target in standing.alone:
        kept = RuleGrant(target, provider_id, Role.ADMIN, by_hand)
        where = "of the site" if target == SITE else "of the project"
        return _Step(RoleReason(target, now, now, f"stays: the only administrator {where}"), kept)
    if rule is None:
        text = "given by hand before" if after else "no group still gives it"
        if elsewhere and after is not by_hand:
            text = "given by another provider"
        return _Step(RoleReason(target, now, after, text), None)
    if after is rule.role and (by_hand is None or not by_hand.includes(rule.role)):
        return _Step(RoleReason(target, now, after, f"group {rule.group!r}", rule.id), grant)
    text = f"group {rule.group!r} gives {rule.role.value}, which is included in what was given otherwise"
    return _Step(RoleReason(target, now, after, text, rule.id), grant)


def _greatest(roles: Iterable[Role | None]) -> Role | None:
    best: Role | None = None
    for role in roles:
        if role is not None and (best is None or role.includes(best)):
            best = role
    return best


def _fits(pattern: str, group: str) -> bool:
    if "*" not in pattern:
        return pattern == group
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), group, re.DOTALL) is not None
