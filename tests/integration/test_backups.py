"""Backups over the API and by the command line, and a server that was destroyed and restored."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millpond.app import preparing, take_over_lake
from millpond.client.credentials import save_token
from millpond.db import backup_runs, commits, migrate, table_rows
from millpond.db import secrets as secret_rows
from millpond.db.engine import Database
from millpond.errors import Forbidden, NotFound, ReadOnly, SetupError
from millpond.model.backup import BackupWork
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM, Role
from millpond.services.backups import here, schedule
from millpond.services.backups.places import find_backup
from millpond.services.backups.reading import open_backup
from millpond.services.backups.restore import LakeChoice, restore
from millpond.services.deps import Deps, SystemClock
from millpond.services.events import EventHub
from millpond.services.lake import reconcile
from millpond.services.people import projects, secrets, sessions, tokens
from millpond.services.people.sessions import Where
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.builders_work import add_job
from millpond.testing.clock import FakeClock
from millpond.testing.postgres import Postgres
from millpond.testing.server import ADMIN, RunningServer, running_server
from tests.integration.cli import Mill, ServerHere
from tests.unit.services.lake.reading_all import read_all

PASSWORD = "correct horse battery"


@contextmanager
def started(settings: Settings) -> Iterator[Deps]:
    """What `mill up` does before it answers."""
    settings.data_dir.mkdir(exist_ok=True)
    with preparing(settings, EventHub(), SystemClock(), admin_password=PASSWORD) as prepared:
        yield prepared.deps


def everything(deps: Deps) -> Mapping[str, list[list[Any]]]:
    return rows_of(deps.db)


def rows_of(db: Database) -> Mapping[str, list[list[Any]]]:
    with db.read() as tx:
        return {table.name: list(table_rows.rows_of(tx, table)) for table in table_rows.tables_of(tx)}


# What a commit changes rather than adds to.
_MOVING = frozenset(
    {"dataset", "project", "ref", "upload", "server", "promised_page", "record", "pack", "tree_difference", "token"}
)
# What a commit adds to: of them the backup holds what there was at its moment.
_GROWING = frozenset({"audit", "commit_", "page", "page_pack", "blob", "lineage_edge", "backup_run"})


@dataclass(frozen=True)
class Lost:
    """What a server had that was destroyed."""

    backup_id: str
    rows: Mapping[str, list[list[Any]]]
    token: str
    cookie: str


def destroy(deps: Deps, place: Path) -> Lost:
    """A server at work, backed up, and lost with all it had but its lake."""
    a_commit(deps, {"a": b"1", "deep/b": b"2"}, dataset="quiet")
    projects.create(deps, SYSTEM, name=f"team-{new_id(8)}")
    secrets.put(deps, SYSTEM, the_project(deps), "HUB_KEY", "opens everything")
    job = add_job(deps.db, name=new_id(8)).id
    tail = deps.settings.logs_dir / job[:2] / job / "placement1.log"
    tail.parent.mkdir(parents=True)
    tail.write_text("epoch 1\n")
    cookie = sign_in(deps).cookie
    _, token = tokens.create(deps, the_admin(deps), name="script", expires_seconds=None)
    stop, begun = threading.Event(), threading.Event()

    def work() -> None:
        number = 0
        while not stop.is_set():
            a_commit(deps, {"n": b"%d" % number}, dataset="busy", message=f"commit {number}")
            number += 1
            begun.set()

    working = threading.Thread(target=work)
    working.start()
    try:
        begun.wait()
        made = here.create(deps.settings, str(place), None, with_keys=True)
        begun.clear()
        begun.wait()  # at least one commit is in no backup
    finally:
        stop.set()
        working.join()
    return Lost(made.id, everything(deps), token, cookie)


def check_rows(now: Mapping[str, list[list[Any]]], lost: Lost) -> None:
    """Every table as it was; of those that grow, what there was at one moment."""
    for name, rows in lost.rows.items():
        if name in _GROWING:
            assert {repr(row) for row in now[name]} <= {repr(row) for row in rows}, name
        elif name not in _MOVING:
            assert now[name] == rows, name
    assert len(now["commit_"]) >= 2
    assert now.keys() == lost.rows.keys()


def check_at_work(deps: Deps, lost: Lost) -> None:
    """Data, secrets, log, passwords, sessions and tokens; what was committed after the backup; and it goes on."""
    quiet = a_dataset(deps, "quiet")
    with deps.db.read() as tx:
        ref = commits.find_ref(tx, quiet.id, "main")
        assert ref is not None
        commit = commits.get(tx, ref.commit_id)
        secret = secret_rows.find(tx, the_project(deps).id, "HUB_KEY")
    assert commit is not None
    assert secret is not None
    assert read_all(deps, quiet, commit) == {"a": b"1", "deep/b": b"2"}
    assert deps.seal.open(secret.sealed, f"secret {secret.id}") == "opens everything"
    assert {path.read_text() for path in deps.settings.logs_dir.rglob("*.log")} == {"epoch 1\n"}
    assert sign_in(deps).cookie
    assert sessions.actor_of(deps, lost.cookie)[0].name == ADMIN
    assert tokens.actor_of(deps, lost.token).name == ADMIN
    with pytest.raises(ReadOnly):
        a_commit(deps, {"n": b"too early"}, dataset="busy")
    reconcile.reconcile(deps, SYSTEM, None)
    assert len(everything(deps)["commit_"]) == len(lost.rows["commit_"])
    a_commit(deps, {"n": b"on"}, dataset="busy")


def sign_in(deps: Deps) -> sessions.SignedIn:
    return sessions.sign_in(
        deps, sessions.LoginLimiter(deps.db), name=ADMIN, password=PASSWORD, where=Where("127.0.0.1")
    )


def restored_in(place: Path, settings: Settings, lost: Lost) -> None:
    found, backup_id = find_backup(str(place))
    assert backup_id == lost.backup_id
    restore(open_backup(found.store, backup_id, None), settings, LakeChoice(), SystemClock(), settle_seconds=0)
    with closing(Database(settings.database)) as db:
        check_rows(rows_of(db), lost)


def test_a_server_that_was_destroyed_under_load_is_restored(tmp_path: Path) -> None:
    lake, place = str(tmp_path / "lake"), tmp_path / "backups"
    with started(Settings(data_dir=tmp_path / "old", lake_url=lake)) as deps:
        lost = destroy(deps, place)
        shutil.rmtree(tmp_path / "old")
    settings = Settings(data_dir=tmp_path / "new", lake_url=lake)
    restored_in(place, settings, lost)
    with started(settings) as deps:
        check_at_work(deps, lost)


@pytest.mark.long
def test_a_server_grows_from_sqlite_to_postgresql_and_back(tmp_path: Path, postgres: Postgres) -> None:
    lake = str(tmp_path / "lake")
    with started(Settings(data_dir=tmp_path / "old", lake_url=lake)) as deps:
        lost = destroy(deps, tmp_path / "first")
    with postgres.database() as url:
        grown = Settings(data_dir=tmp_path / "grown", database_url=url, lake_url=lake)
        restored_in(tmp_path / "first", grown, lost)
        with started(grown) as deps:
            check_at_work(deps, lost)
        with started(grown) as deps:
            lost = destroy(deps, tmp_path / "second")
        small = Settings(data_dir=tmp_path / "small", lake_url=lake)
        restored_in(tmp_path / "second", small, lost)
    with started(small) as deps:
        check_at_work(deps, lost)


def test_the_lake_of_another_server_is_left_alone(tmp_path: Path) -> None:
    """The newest owner record must name the backup's database; a restore without the lake needs a take-over later."""
    lake, place = str(tmp_path / "lake"), tmp_path / "backups"
    with started(Settings(data_dir=tmp_path / "old", lake_url=lake)) as deps:
        here.create(deps.settings, str(place), None, with_keys=True)
    found, backup_id = find_backup(str(place))
    opened = open_backup(found.store, backup_id, None)
    trial = Settings(data_dir=tmp_path / "trial", lake_url=lake)
    restore(opened, trial, LakeChoice(leave_alone=True), SystemClock())
    with pytest.raises(SetupError, match="belongs to another server"), started(trial):
        pass
    take_over_lake(trial, settle_seconds=0)
    new = Settings(data_dir=tmp_path / "new", lake_url=lake)
    with pytest.raises(SetupError, match="belongs to another server"):
        restore(opened, new, LakeChoice(), SystemClock(), settle_seconds=0)
    assert not list(tmp_path.glob("new/*.db"))
    restore(opened, new, LakeChoice(from_others=True), SystemClock(), settle_seconds=0)
    with pytest.raises(SetupError, match="belongs to another server"), started(trial):
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    passphrase = tmp_path / "passphrase"
    passphrase.write_text(PASSWORD + "\n")
    with running_server(
        tmp_path / "data", clock=FakeClock(), backup_to=tmp_path / "backups", backup_passphrase_file=passphrase
    ) as running:
        with running.deps.db.write() as tx:
            migrate.stamp(tx)
        yield running


def carry_out(server: RunningServer) -> None:
    schedule.run_due(server.deps, server.deps.clock.now())


def test_administrators_make_list_verify_and_download_backups(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    save_token(home, server.url, server.token_of(ADMIN))
    mill = Mill(ServerHere(server.url, tmp_path / "data", home), capsys, tmp_path)
    assert "No backups yet" in mill.ok("backup", "list").err
    carry_out(server)  # the first one is due at once
    carry_out(server)
    (found,) = mill.ok("backup", "list", "--json").json["items"]
    assert (found["is_encrypted"], found["engine"]) == (True, "sqlite")
    asked = server.admin.post(f"/backups/{found['id']}/verify").json()
    carry_out(server)
    assert server.admin.get(f"/backups/runs/{asked['id']}").json()["state"] == "done"
    assert server.admin.post("/backups").json()["state"] == "queued"
    assert server.admin.post("/backups").status_code == 409
    carry_out(server)
    status = mill.ok("backup", "status", "--json").json
    assert (status["problem"], len(status["runs"]), status["is_encrypted"]) == (None, 3, True)
    assert status["newest"]["backup_id"] in mill.ok("backup", "list").out
    assert "millpond_backup_late 0" in server.admin.get(f"{server.url}/metrics").text
    mill.ok("backup", "download", found["id"], str(tmp_path / "copies"))
    done = mill.ok("backup", "verify", f"{tmp_path}/copies", "--passphrase-file", str(tmp_path / "passphrase"))
    assert "No problems" in done.err
    assert mill("backup", "verify", f"{tmp_path}/copies").code == Forbidden.exit_code
    assert mill("backup", "verify", "20260101T000000Z-00000000").code == NotFound.exit_code
    assert server.user("ada", roles={"default": Role.ADMIN}).get("/backups").status_code == 403


def test_a_failure_is_kept_told_and_tried_again(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "backups").write_text("a file is in the way")
    carry_out(server)
    status = server.admin.get("/backups/status").json()
    assert status["runs"][0]["state"] == "failed"
    assert "Cannot use" in status["runs"][0]["problem"]
    clock = server.deps.clock
    assert isinstance(clock, FakeClock)
    clock.advance(3 * 86_400)
    status = server.admin.get("/backups/status").json()
    assert status["problem"].startswith("There is no backup yet: Cannot use")
    checks = {check["name"]: check for check in server.admin.get("/doctor").json()["checks"]}
    assert checks["backups"]["ok"] is False
    (tmp_path / "backups").unlink()
    carry_out(server)
    assert server.admin.get("/backups/status").json()["problem"] is None


def test_what_a_killed_server_was_making_is_given_up(server: RunningServer) -> None:
    deps, clock = server.deps, server.deps.clock
    assert isinstance(clock, FakeClock)
    run = schedule.ask(deps, SYSTEM, BackupWork.CREATE)
    with deps.db.write() as tx:
        assert backup_runs.begin(tx, run.id, now=clock.now(), silent_since=clock.now())
    other = schedule.ask(deps, SYSTEM, BackupWork.CREATE)
    carry_out(server)
    assert not list(schedule.list_all(deps))
    clock.advance(600)
    carry_out(server)
    assert len(schedule.list_all(deps)) == 1
    with deps.db.read() as tx:
        states = {one.id: one.state.value for one in backup_runs.latest(tx, limit=9)}
    assert states == {run.id: "failed", other.id: "done"}


def test_a_backup_without_encryption_does_not_leave_over_the_network(tmp_path: Path) -> None:
    with running_server(tmp_path / "data", backup_to=tmp_path / "backups") as server:
        with server.deps.db.write() as tx:
            migrate.stamp(tx)
        carry_out(server)
        (found,) = server.admin.get("/backups").json()["items"]
        assert server.admin.get(f"/backups/{found['id']}/content").status_code == 403


def test_a_server_without_a_place_says_what_to_do(tmp_path: Path) -> None:
    with running_server(tmp_path / "data") as server:
        answer = server.admin.post("/backups")
        assert answer.status_code == 409
        assert "--backup-to" in answer.json()["hint"]
        assert "no backups" in server.admin.get("/backups/status").json()["problem"]
