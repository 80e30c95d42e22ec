"""Users, projects, tokens, sessions and audit records, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from millpond.db import audit, projects, sessions, tokens, users
from millpond.db.engine import Database
from millpond.model.people import Project, Role, Session, Token, TokenKind, User
from millpond.testing.clock import NOON


def a_user(name: str, *, is_admin: bool = False) -> User:
    return User(id=f"id-{name}", name=name, full_name="", is_admin=is_admin, created_at=NOON)


def a_project(name: str) -> Project:
    return Project(id=f"id-{name}", name=name, description="", created_at=NOON)


def add_people(db: Database) -> None:
    with db.write() as tx:
        for name, is_admin in (("ada", True), ("ben", False), ("eve", False)):
            users.insert(tx, a_user(name, is_admin=is_admin), password_hash="")
        for name in ("lab", "mill"):
            projects.insert(tx, a_project(name))


def test_user_comes_back_as_it_went_in(db: Database) -> None:
    add_people(db)
    with db.read() as tx:
        assert users.find(tx, "ada") == a_user("ada", is_admin=True)
        assert users.get(tx, "id-ben") == a_user("ben")
        assert users.find(tx, "nobody") is None
        assert [user.name for user in users.page(tx, limit=2, after="ada")] == ["ben", "eve"]


def test_user_name_is_unique(db: Database) -> None:
    add_people(db)
    with pytest.raises(IntegrityError), db.write() as tx:
        users.insert(tx, User("other", "ada", "", False, NOON), password_hash="")


def test_disabled_administrators_do_not_count(db: Database) -> None:
    add_people(db)
    with db.write() as tx:
        users.change(tx, "id-ben", is_admin=True)
        assert users.count_administrators(tx, without="id-ada") == 1
        users.set_disabled(tx, "id-ben", NOON)
        assert users.count_administrators(tx, without="id-ada") == 0


def test_roles(db: Database) -> None:
    add_people(db)
    with db.write() as tx:
        projects.set_role(tx, "id-lab", "id-ben", Role.VIEWER)
        projects.set_role(tx, "id-lab", "id-ben", Role.ADMIN)
        projects.set_role(tx, "id-mill", "id-ben", Role.MEMBER)
        assert projects.roles_of(tx, "id-ben") == {"id-lab": Role.ADMIN, "id-mill": Role.MEMBER}
        assert projects.only_administered_by(tx, "id-ben") == ["lab"]
        projects.set_role(tx, "id-lab", "id-eve", Role.ADMIN)
        assert projects.only_administered_by(tx, "id-ben") == []
        assert [member.user_name for member, _ in projects.members(tx, "id-lab")] == ["ben", "eve"]
        assert projects.remove_member(tx, "id-lab", "id-eve")
        assert not projects.remove_member(tx, "id-lab", "id-eve")


def test_projects_among_visible_ones(db: Database) -> None:
    add_people(db)
    with db.read() as tx:
        assert list(projects.names(tx, among=None)) == ["lab", "mill"]
        assert list(projects.names(tx, among={"id-mill"})) == ["mill"]
        assert list(projects.names(tx, among=frozenset())) == []
        assert [found.name for found in projects.page(tx, among=None, limit=1)] == ["lab"]


def test_tokens_go_with_their_user(db: Database) -> None:
    add_people(db)
    token = Token("t1", TokenKind.USER, "laptop", "id-ben", None, None, NOON, NOON + timedelta(days=1), None)
    with db.write() as tx:
        tokens.insert(tx, token, hash=b"h" * 32)
        assert tokens.find_by_hash(tx, b"h" * 32) == token
        assert not tokens.delete_of_user(tx, "id-eve", "t1")
        users.delete(tx, "id-ben")
        assert tokens.find_by_hash(tx, b"h" * 32) is None


def test_sessions_end(db: Database) -> None:
    add_people(db)
    with db.write() as tx:
        for number in range(3):
            session = Session("id-ben", f"csrf{number}", NOON, NOON + timedelta(hours=number))
            sessions.insert(tx, session, hash=bytes([number]) * 32)
        assert sessions.delete_expired(tx, NOON) == 1
        assert sessions.delete_of_user(tx, "id-ben", but=b"\2" * 32) == 1
        found = sessions.find(tx, b"\2" * 32)
        assert found is not None and found.csrf == "csrf2" and found.expires_at == NOON + timedelta(hours=2)


def test_audit_is_newest_first(db: Database) -> None:
    add_people(db)
    with db.write() as tx:
        for number in range(3):
            audit.insert(
                tx, at=NOON, actor="ada", action="x.y", subject=str(number), project_id="id-lab", details={"n": number}
            )
        first = audit.page(tx, limit=2)
        rest = audit.page(tx, limit=2, before=first[-1].id)
    assert [record.subject for record in first] == ["2", "1"]
    assert [(record.subject, record.project, record.details) for record in rest] == [("0", "lab", {"n": 0})]
