"""Rules from groups to roles, and what they gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import auth_rule, rule_grant
from millpond.model.people import Role
from millpond.model.sign_in import SITE, GroupRule, RuleGrant


def insert(tx: Connection, value: GroupRule) -> None:
    tx.execute(
        auth_rule.insert().values(
            id=value.id,
            provider_id=value.provider_id,
            group_name=value.group,
            project_id=None if value.target == SITE else value.target,
            role=value.role.value,
            created_at=value.created_at,
            created_by=value.created_by,
        )
    )


def all_of(tx: Connection) -> Sequence[GroupRule]:
    """The oldest first."""
    return [_value(row) for row in tx.execute(select(auth_rule).order_by(auth_rule.c.created_at, auth_rule.c.id))]


def find(tx: Connection, rule_id: str) -> GroupRule | None:
    row = tx.execute(select(auth_rule).where(auth_rule.c.id == rule_id)).first()
    return _value(row) if row else None


def delete(tx: Connection, rule_id: str) -> None:
    tx.execute(auth_rule.delete().where(auth_rule.c.id == rule_id))


def grants_of(tx: Connection, user_id: str) -> Sequence[RuleGrant]:
    query = select(rule_grant).where(rule_grant.c.user_id == user_id)
    return [
        RuleGrant(row.project_id, row.provider_id, Role(row.role), Role(row.by_hand) if row.by_hand else None)
        for row in tx.execute(query.order_by(rule_grant.c.project_id, rule_grant.c.provider_id))
    ]


def set_grants(tx: Connection, user_id: str, provider_id: str, grants: Iterable[RuleGrant]) -> None:
    """All that a provider gives somebody from now on."""
    own = (rule_grant.c.user_id == user_id) & (rule_grant.c.provider_id == provider_id)
    tx.execute(rule_grant.delete().where(own))
    rows = [
        {
            "user_id": user_id,
            "project_id": one.target,
            "provider_id": provider_id,
            "role": one.role.value,
            "by_hand": one.before.value if one.before else None,
        }
        for one in grants
    ]
    if rows:
        tx.execute(rule_grant.insert(), rows)


def forget_grants(tx: Connection, user_id: str, target: str) -> None:
    """Somebody changed the role by hand: it is no longer a rule's."""
    tx.execute(rule_grant.delete().where(rule_grant.c.user_id == user_id, rule_grant.c.project_id == target))


def _value(row: Row[Any]) -> GroupRule:
    return GroupRule(
        id=row.id,
        provider_id=row.provider_id,
        group=row.group_name,
        target=row.project_id or SITE,
        role=Role(row.role),
        created_at=row.created_at,
        created_by=row.created_by,
    )
