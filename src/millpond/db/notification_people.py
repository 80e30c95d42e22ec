"""The people whom notices may concern, with what decides whether they are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, or_, select

from millpond.db import notifications
from millpond.db.tables import member, user
from millpond.decide.notifications.recipients import Person


def people(
    tx: Connection, *, names: Collection[str], ids: Collection[str], project_ids: Collection[str]
) -> Sequence[Person]:
    """Users of these names and ids, members of these projects and site administrators: those who can sign in.

    Service accounts have nobody who reads.
    """
    members = select(member.c.user_id).where(member.c.project_id.in_(project_ids))
    concerned = or_(user.c.name.in_(names), user.c.id.in_(ids), user.c.is_admin, user.c.id.in_(members))
    query = select(user.c.id, user.c.name, user.c.is_admin)
    query = query.where(user.c.disabled_at.is_(None), ~user.c.is_service, concerned).order_by(user.c.id)
    rows = tx.execute(query).all()
    found = [row.id for row in rows]
    roles: dict[str, set[str]] = defaultdict(set)
    for row in tx.execute(select(member.c.user_id, member.c.project_id).where(member.c.user_id.in_(found))):
        roles[row.user_id].add(row.project_id)
    chosen = notifications.choices_of(tx, found)
    return [Person(row.id, row.name, row.is_admin, frozenset(roles[row.id]), chosen[row.id]) for row in rows]


def person(tx: Connection, user_id: str) -> Person | None:
    """None for one who is gone or cannot sign in."""
    return next((one for one in people(tx, names=(), ids=[user_id], project_ids=()) if one.id == user_id), None)
