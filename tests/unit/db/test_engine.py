"""Transactions behave alike on both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.pool import QueuePool

from millpond.db import engine, projects, users
from millpond.db.engine import Database
from millpond.model.people import Project, User
from millpond.testing.clock import NOON
from millpond.testing.server import copy_empty_database


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


def test_writers_of_sqlite_wait_without_a_connection(tmp_path: Path) -> None:
    copy_empty_database(tmp_path / "millpond.db")
    with closing(Database(f"sqlite:///{tmp_path / 'millpond.db'}")) as db, ThreadPoolExecutor(8) as pool:
        begun = Barrier(9)

        def write(number: int) -> None:
            begun.wait()
            add_project(db, f"lab-{number}")

        with db.write():
            asked = [pool.submit(write, number) for number in range(8)]
            begun.wait()
            assert isinstance(db.engine.pool, QueuePool)
            assert db.engine.pool.checkedout() == 1
        for one in asked:
            one.result(30)
        with db.read() as tx:
            assert len(projects.names(tx, among=None)) == 8


def test_a_writer_that_waited_too_long_says_that_the_database_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_TURN_SECONDS", 0.01)
    copy_empty_database(tmp_path / "millpond.db")
    with closing(Database(f"sqlite:///{tmp_path / 'millpond.db'}")) as db:
        with db.write(), pytest.raises(OperationalError, match="locked"):
            add_project(db, "lab")
        add_project(db, "lab")
