"""What the server refuses to start on, and what whoever sits at its machine can do about it."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
from sqlalchemy import text

from millpond import data_dir
from millpond.app import preparing, reset_password, serve, take_over_lake
from millpond.db.engine import Database
from millpond.errors import BadLogin, NotFound, SetupError
from millpond.services.deps import SystemClock
from millpond.services.events import EventHub
from millpond.services.people.sessions import LoginLimiter, Where, sign_in
from millpond.settings import Settings
from millpond.testing.clock import NOON, FakeClock


def start(settings: Settings, *, port_is_fixed: bool = True) -> None:
    """For a start that is expected to fail. One that does not ends at once: nobody waits for a server without end."""
    serve(settings, port_is_fixed=port_is_fixed, on_ready=lambda _: os.kill(os.getpid(), signal.SIGTERM))


def prepare(settings: Settings) -> str | None:
    """Everything but listening; the password that was made."""
    with preparing(settings, EventHub(), SystemClock()) as prepared:
        return prepared.password


def test_directory_of_a_running_server(tmp_path: Path) -> None:
    with data_dir.locked(tmp_path, NOON), pytest.raises(SetupError, match=f"process {os.getpid()}, since 2026"):
        start(Settings(data_dir=tmp_path, port=0))
    with data_dir.locked(tmp_path, NOON):
        pass  # free again


def test_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="Cannot use"):
        start(Settings(data_dir=tmp_path / "file" / "data", port=0))


def test_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=f"port {port}") as refused:
            start(Settings(data_dir=tmp_path, port=port))
    assert "--port" in (refused.value.hint or "")
    assert prepare(Settings(data_dir=tmp_path)), "the password is made, and shown, by the start that succeeds"


def test_newer_database(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, port=0)
    prepare(settings)
    db = Database(settings.database)
    with db.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        tx.execute(text("UPDATE server SET usable_from = '9998'"))
    db.close()
    with pytest.raises(SetupError, match=r"newer Millpond.*9999"):
        start(settings)
    with pytest.raises(SetupError):
        reset_password(settings, "admin", "a new password")


def test_lake_of_another_database(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    first, second = (Settings(data_dir=tmp_path / name, lake_url=lake) for name in ("first", "second"))
    for settings in (first, second):
        settings.data_dir.mkdir()
    prepare(first)
    with pytest.raises(SetupError, match="belongs to another server") as refused:
        prepare(second)
    assert "mill lake take-over" in (refused.value.hint or "")
    assert take_over_lake(second, settle_seconds=0) is not None
    assert take_over_lake(second) is None, "it is ours already"
    assert prepare(second), "the password is made, and shown, by the start that succeeds"
    assert prepare(second) is None
    with pytest.raises(SetupError, match="belongs to another server"):
        prepare(first)


def test_database_of_another_lake(tmp_path: Path) -> None:
    prepare(Settings(data_dir=tmp_path))
    with pytest.raises(SetupError, match="The lake is empty"):
        prepare(Settings(data_dir=tmp_path, lake_url=str(tmp_path / "another")))


def test_forgotten_password(tmp_path: Path) -> None:
    settings, clock = Settings(data_dir=tmp_path), FakeClock()
    with preparing(settings, EventHub(), clock, admin_password="the old password") as prepared:
        assert prepared.password is None, "one that was given is not shown"
        reset_password(settings, "admin", "a new password")
        limiter = LoginLimiter(prepared.deps.db)
        with pytest.raises(BadLogin):
            sign_in(prepared.deps, limiter, name="admin", password="the old password", where=Where("here"))
        assert sign_in(prepared.deps, limiter, name="admin", password="a new password", where=Where("here"))
        with pytest.raises(NotFound) as missing:
            reset_password(settings, "adnim", "a new password")
        assert missing.value.hint == "Did you mean 'admin'?"
