"""Transactions behave alike on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError

from millpond.db import projects, users
from millpond.db.engine import Database
from millpond.model.people import Project, User
from millpond.testing.clock import NOON


def add_project(db: Database, name: str) -> None:
    with db.write() as tx:
        projects.insert(tx, Project(f"id-{name}", name, "", NOON))


def test_a_read_sees_one_moment(db: Database) -> None:
    with db.read() as tx:
        assert projects.names(tx, among=None) == []
        add_project(db, "made-meanwhile")
        assert projects.names(tx, among=None) == []
    with db.read() as tx:
        assert projects.names(tx, among=None) == ["made-meanwhile"]


def test_a_write_is_all_or_nothing(db: Database) -> None:
    add_project(db, "lab")
    with pytest.raises(IntegrityError), db.write() as tx:
        users.insert(tx, User("u", "ada", "", False, NOON), password_hash="")
        projects.insert(tx, Project("other", "lab", "", NOON))
    with db.read() as tx:
        assert users.find(tx, "ada") is None


def test_times_come_back_with_their_offset(db: Database) -> None:
    add_project(db, "lab")
    with db.read() as tx:
        found = projects.find(tx, "lab")
    assert found is not None and found.created_at == NOON and found.created_at.tzinfo is not None
