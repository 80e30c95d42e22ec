"""The audit log in both databases: searched by every field, and only the retention rule removes from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from millpond.db import audit, migrate
from millpond.db.audit import AuditFilter
from millpond.db.engine import Database
from millpond.services import setup
from millpond.testing.clock import NOON

DAY = timedelta(days=1)


@pytest.fixture
def log(db: Database) -> Iterator[Database]:
    setup.identify(db, NOON)
    with db.write() as tx:
        for number, (who, action, subject, address, details, after) in enumerate(
            [
                ("ada", "user.create", "bob", "10.0.0.1", {}, {"email": "bob@example.org"}),
                ("ada", "user_agent.create", "x", "10.0.0.1", {}, {}),
                ("bob", "dataset.create", "vision/röntgen", "10.0.0.2", {"note": "Größe 100%"}, {}),
                ("bob", "user.change", "bob", None, {}, {"email": "new@example.org"}),
            ]
        ):
            audit.insert(
                tx, at=NOON + number * DAY, actor=who, action=action, subject=subject, project_id=None,
                details=details, address=address, after=after,
            )  # fmt: skip
    yield db


@pytest.mark.parametrize(
    ("chosen", "numbers"),
    [
        (AuditFilter(), [4, 3, 2, 1]),
        (AuditFilter(who="bob"), [4, 3]),
        (AuditFilter(action="user"), [4, 1]),
        (AuditFilter(action="user.create"), [1]),
        (AuditFilter(subject="bob"), [4, 1]),
        (AuditFilter(subject="vision/*"), [3]),
        (AuditFilter(subject="*"), [4, 3, 2, 1]),
        (AuditFilter(address="10.0.0.1"), [2, 1]),
        (AuditFilter(since=NOON + DAY, until=NOON + 3 * DAY), [3, 2]),
        (AuditFilter(words="GRÖSSE"), []),
        (AuditFilter(words="größe 100%"), [3]),
        (AuditFilter(words="100_"), []),
        (AuditFilter(words="EXAMPLE.ORG"), [4, 1]),
        (AuditFilter(words="röntgen"), [3]),
        (AuditFilter(who="bob", action="user"), [4]),
    ],
)
def test_every_field_is_searched(log: Database, chosen: AuditFilter, numbers: list[int]) -> None:
    with log.read() as tx:
        first = audit.page(tx, limit=1, before=None)[0].id - 4
        found = [one.id - first for one in audit.page(tx, chosen, limit=10)]
        behind = [one.id - first for one in audit.after(tx, 0, chosen, up_to=first + 4, limit=10)]
    assert found == numbers
    assert behind == sorted(numbers)


@pytest.mark.parametrize(
    "statement", ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "DELETE FROM audit WHERE actor = 'ada'"]
)
def test_the_database_refuses_to_change_or_remove_entries(log: Database, statement: str) -> None:
    with pytest.raises(DBAPIError, match="only the retention rule"), log.write() as tx:
        tx.execute(text(statement))
    with log.read() as tx:
        assert len(audit.page(tx, limit=10)) == 4


def test_postgresql_refuses_to_truncate_it_as_well(log: Database) -> None:
    if log.is_sqlite:
        pytest.skip("SQLite has no TRUNCATE")
    with pytest.raises(DBAPIError, match="only the retention rule"), log.write() as tx:
        tx.execute(text("TRUNCATE audit"))


def test_a_migrated_database_refuses_too(database_url: str) -> None:
    with closing(Database(database_url)) as db:
        migrate.prepare(db, NOON)
        setup.identify(db, NOON)
        with db.write() as tx:
            audit.insert(tx, at=NOON, actor="ada", action="user.create", subject="bob", project_id=None, details={})
        for statement in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
            with pytest.raises(DBAPIError, match="only the retention rule"), db.write() as tx:
                tx.execute(text(statement))


def test_the_rule_removes_what_is_older_and_no_more(log: Database) -> None:
    with log.write() as tx:
        assert audit.remove_due(tx, NOON + 2 * DAY, limit=1) == 1
        assert audit.remove_due(tx, NOON + 2 * DAY, limit=10) == 1
        assert audit.remove_due(tx, NOON + 2 * DAY, limit=10) == 0
    with log.read() as tx:
        assert [one.action for one in audit.page(tx, limit=10)] == ["user.change", "dataset.create"]
    with pytest.raises(DBAPIError), log.write() as tx:
        tx.execute(text("DELETE FROM audit"))


def test_numbers_are_settled_when_nobody_is_adding_any(log: Database) -> None:
    """PostgreSQL gives numbers out before they are committed: what is read up to must not have gaps that fill later."""
    if log.is_sqlite:
        pytest.skip("SQLite has one writer")
    both, done = Barrier(2), Barrier(2)

    def add() -> None:
        with log.write() as tx:
            audit.insert(tx, at=NOON, actor="ada", action="a.slow", subject="one", project_id=None, details={})
            both.wait(20)
            done.wait(20)

    adding = Thread(target=add)
    adding.start()
    both.wait(20)
    with log.write() as tx:
        assert audit.settled_id(tx) is None
    done.wait(20)
    adding.join(20)
    with log.write() as tx:
        assert audit.settled_id(tx) == audit.newest_id(tx)
