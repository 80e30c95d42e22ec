"""The first start makes people and a site; a compute and a volume come with an agent that looks after them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millpond.db import computes, volumes
from millpond.db.engine import Database
from millpond.services import setup
from millpond.testing.server import copy_empty_database

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    copy_empty_database(tmp_path / "millpond.db")
    with closing(Database(f"sqlite:///{tmp_path / 'millpond.db'}")) as found:
        setup.identify(found, NOW)
        setup.populate(found, admin_password="correct horse", now=NOW)
        yield found


def places(db: Database) -> tuple[list[str], list[str]]:
    with db.read() as tx:
        found = computes.find(tx, setup.LOCAL)
        return [found.name] if found else [], [one.name for one in volumes.all_of(tx)]


def test_without_an_agent_there_is_neither_compute_nor_volume(db: Database, tmp_path: Path) -> None:
    assert places(db) == ([], [])
    token = setup.agent_token(db, None, NOW, volume_path=tmp_path / "volume")
    assert places(db) == (["local"], ["local"])
    assert setup.agent_token(db, token, NOW, volume_path=tmp_path / "volume") == token


def test_a_volume_that_was_removed_does_not_come_back(db: Database, tmp_path: Path) -> None:
    setup.agent_token(db, None, NOW, volume_path=tmp_path / "volume")
    with db.write() as tx:
        local = volumes.find(tx, setup.LOCAL)
        assert local is not None
        volumes.delete(tx, local.id)
    setup.agent_token(db, None, NOW, volume_path=tmp_path / "volume")
    with db.write() as tx:
        compute = computes.find(tx, setup.LOCAL)
        assert compute is not None
        computes.detach(tx, compute.id, NOW)
    setup.agent_token(db, None, NOW, volume_path=tmp_path / "volume")
    assert places(db) == (["local"], [])
