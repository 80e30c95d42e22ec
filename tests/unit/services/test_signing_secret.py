"""The server's secret: sealed, gone from the file, kept for servers of 0.2 during an upgrade, replaced when lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from millpond.db import server
from millpond.db.engine import Database
from millpond.db.server import ServerRow
from millpond.db.tables import metadata
from millpond.errors import SetupError
from millpond.sealing import Seal
from millpond.services import setup, signing_secret
from millpond.testing.clock import NOON

OLD = b"the secret of a server of 0.2..."
DAY = timedelta(days=1, minutes=1)


@pytest.fixture
def seal() -> Seal:
    return Seal.throwaway()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path / 'mill.db'}")) as opened:
        metadata.create_all(opened.engine)
        yield opened


def of_old_server(db: Database) -> None:
    with db.write() as tx:
        server.insert(tx, ServerRow("id", None, OLD, NOON))
    with db.write() as tx:
        server.set_epoch(tx, 7)


def secret_of(db: Database, seal: Seal, now: datetime, *, is_shared: bool = False) -> bytes:
    return signing_secret.signing_secret(db, seal, now, is_shared=is_shared)


def plain(db: Database) -> bytes:
    with db.read() as tx:
        row = server.get(tx)
    assert row is not None
    return row.secret


def test_a_new_database_never_holds_it_in_the_clear(db: Database, seal: Seal) -> None:
    setup.identify(db, NOON, seal)
    secret = secret_of(db, seal, NOON)
    assert len(secret) == 32 and plain(db) != secret
    assert secret_of(db, seal, NOON + DAY) == secret, "the same at every start"


def test_an_old_database_is_sealed_and_nothing_of_it_is_left_in_the_files(
    db: Database, seal: Seal, tmp_path: Path
) -> None:
    of_old_server(db)
    assert OLD in b"".join(file.read_bytes() for file in tmp_path.glob("mill.db*"))
    assert secret_of(db, seal, NOON) == OLD, "what was signed with it still works"
    assert OLD not in b"".join(file.read_bytes() for file in tmp_path.glob("mill.db*"))
    with db.read() as tx:
        row = server.get(tx)
    assert row is not None and (row.database_id, row.epoch, row.created_at) == ("id", 7, NOON)


def test_another_key_is_refused_and_a_lost_one_replaced(db: Database, seal: Seal) -> None:
    of_old_server(db)
    secret_of(db, seal, NOON)
    other = Seal.throwaway()
    with pytest.raises(SetupError, match="another key") as refused:
        secret_of(db, other, NOON)
    assert "--new-signing-secret" in (refused.value.hint or "")
    with db.write() as tx:
        signing_secret.make(tx, other, "id", NOON)
    assert secret_of(db, other, NOON) not in (OLD, plain(db))


def test_servers_of_0_2_beside_new_ones_read_it_for_a_day(db: Database, seal: Seal) -> None:
    of_old_server(db)
    assert secret_of(db, seal, NOON, is_shared=True) == OLD
    assert secret_of(db, seal, NOON + timedelta(hours=23), is_shared=True) == OLD
    assert plain(db) == OLD, "an old server that is started again signs the same"
    assert secret_of(db, seal, NOON + DAY, is_shared=True) == OLD
    assert plain(db) != OLD
