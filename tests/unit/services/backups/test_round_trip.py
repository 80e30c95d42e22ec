"""A backup holds everything of a database, and everything comes back, from either kind into either kind."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import Buffer
from millpond.db import migrate, server, sites, table_rows
from millpond.db.engine import Database
from millpond.errors import Corrupt, DiskFull, Forbidden, SetupError
from millpond.model.backup import Backup
from millpond.model.ids import new_id
from millpond.model.people import SYSTEM
from millpond.model.volume import Site
from millpond.sealing import Seal
from millpond.services.backups import places
from millpond.services.backups.create import WhatToBackUp, create
from millpond.services.backups.manifest import manifest_key, part_key
from millpond.services.backups.reading import open_backup
from millpond.services.backups.restore import LakeChoice, restore
from millpond.services.backups.verify import verify
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.settings import Settings
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.every_table import fill_every_table
from millpond.testing.postgres import Postgres
from millpond.testing.server import making_deps

PASSPHRASE = "correct horse battery"
ALONE = LakeChoice(leave_alone=True)


@contextmanager
def full_server(folder: Path, database_url: str | None = None) -> Iterator[Deps]:
    with making_deps(Settings(data_dir=folder, database_url=database_url), clock=FakeClock()) as deps:
        with deps.db.write() as tx:
            migrate.stamp(tx)
            fill_every_table(tx)
        for name, text in (("logs/ab/job1/p.log", "a tail\n"), ("components/own/component.yaml", "x: 1\n")):
            path = folder / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
        Seal.from_file(folder / "secret.key", make=True)
        yield deps


@pytest.fixture(scope="module")
def deps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deps]:
    """Nobody changes it but by adding to it."""
    with full_server(tmp_path_factory.mktemp("backups") / "old") as made:
        yield made


@pytest.fixture(scope="module")
def plain(deps: Deps) -> MemoryStore:
    """A store with one backup, which is not encrypted."""
    back_up(deps, store := MemoryStore(None))
    return store


@pytest.fixture(scope="module")
def sealed(deps: Deps) -> MemoryStore:
    back_up(deps, store := MemoryStore(None), passphrase=PASSPHRASE)
    return store


def copy_of(store: MemoryStore) -> tuple[MemoryStore, Backup]:
    copy = MemoryStore(None)
    for info in store.list():
        copy.put(info.key, store.get(info.key))
    return copy, places.list_backups(copy)[0]


def back_up(deps: Deps, store: MemoryStore, **options: Any) -> Backup:
    given = {"passphrase": None, "now": NOON, "part_bytes": 4096} | options
    return create(WhatToBackUp(deps.db, deps.settings), store, **given)


def everything(db: Database) -> Mapping[str, list[list[Any]]]:
    with db.read() as tx:
        return {table.name: list(table_rows.rows_of(tx, table)) for table in table_rows.tables_of(tx)}


def without_identity(rows: Mapping[str, list[list[Any]]]) -> dict[str, list[list[Any]]]:
    """The restored database is another one: that much differs. No run of a backup is under way in it, and it tells
    nobody of what happened at the old one."""
    same = {name: found for name, found in rows.items() if name not in ("server", "backup_run", "notice")}
    return same | {"server": [row[2:3] + row[3:5] for row in rows["server"]]}


def restored(store: MemoryStore, backup: Backup, settings: Settings, passphrase: str | None = None) -> Database:
    restore(open_backup(store, backup.id, passphrase), settings, ALONE, FakeClock())
    return Database(settings.database)


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_every_row_and_file_comes_back(deps: Deps, tmp_path: Path, passphrase: str | None) -> None:
    store = MemoryStore(None)
    made = back_up(deps, store, passphrase=passphrase)
    assert places.list_backups(store) == [made]
    assert (made.is_encrypted, made.files, made.has_keys) == (passphrase is not None, 3, True)
    folder = tmp_path / "new"
    with closing(restored(store, made, Settings(data_dir=folder), passphrase)) as db:
        assert without_identity(everything(db)) == without_identity(everything(deps.db))
        with db.read() as tx, deps.db.read() as old_tx:
            now, old = server.get(tx), server.get(old_tx)
            assert now is not None
            assert old is not None
            assert (now.secret, now.lake_id) == (old.secret, old.lake_id)
            assert now.database_id != old.database_id
    assert (folder / "logs/ab/job1/p.log").read_text() == "a tail\n"
    assert (folder / "secret.key").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.iterdir()) == [
        "components", "logs", "millpond.db", "secret.key", "server.lock",
    ]  # fmt: skip


@pytest.mark.long
def test_a_server_moves_to_postgresql_and_back(deps: Deps, tmp_path: Path, postgres: Postgres) -> None:
    store = MemoryStore(None)
    before = without_identity(everything(deps.db))
    with postgres.database() as url:
        with closing(restored(store, back_up(deps, store), Settings(tmp_path / "grown", database_url=url))) as db:
            assert without_identity(everything(db)) == before
            _check_numbers_continue(db)
            settings = Settings(tmp_path / "grown", database_url=url)
            back = create(WhatToBackUp(db, settings), store, passphrase=None, now=NOON)
        with closing(restored(store, back, Settings(tmp_path / "small"))) as db:
            assert without_identity(everything(db)) == before


def _check_numbers_continue(db: Database) -> None:
    """What is added after a restore gets a number behind all there are."""
    with db.read() as tx:
        tables = table_rows.tables_of(tx)
        numbers = table_rows.next_numbers(tx, tables)
    assert numbers["audit"] == 1002
    assert numbers["account"] == 1002


def test_what_is_written_meanwhile_is_in_it_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """One moment of all tables: what is written together is there together."""
    with making_deps(Settings(data_dir=tmp_path / "old"), clock=FakeClock()) as deps:
        with deps.db.write() as tx:
            migrate.stamp(tx)
        stop, begun = threading.Event(), threading.Event()

        def write() -> None:
            while not stop.is_set():
                with deps.db.write() as tx:
                    audit.record(tx, now=NOON, actor=SYSTEM, action="site.create", subject="first of all tables")
                    sites.insert(tx, Site(new_id(), new_id(), NOON))
                begun.set()

        writing = threading.Thread(target=write)
        writing.start()
        try:
            begun.wait()
            made = back_up(deps, store := MemoryStore(None))
        finally:
            stop.set()
            writing.join()
    with closing(restored(store, made, Settings(tmp_path / "new"))) as db:
        rows = everything(db)
    assert rows["site"]
    assert len(rows["site"]) == sum("site.create" in row for row in rows["audit"])


def test_a_wrong_passphrase_says_so(sealed: MemoryStore) -> None:
    store, made = copy_of(sealed)
    with pytest.raises(Forbidden, match="Wrong passphrase"):
        open_backup(store, made.id, "another one")
    with pytest.raises(Forbidden, match="is encrypted"):
        open_backup(store, made.id, None)


def test_a_backup_that_somebody_else_put_there_is_not_taken_for_ones_own(plain: MemoryStore) -> None:
    store, made = copy_of(plain)
    with pytest.raises(Forbidden, match="is not encrypted"):
        open_backup(store, made.id, PASSPHRASE)


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_every_damage_is_found(request: pytest.FixtureRequest, tmp_path: Path, passphrase: str | None) -> None:
    """A changed, missing, swapped or left-out part: nothing is restored from such a backup."""
    whole = request.getfixturevalue("sealed" if passphrase else "plain")
    for damage in ("changed", "missing", "swapped", "cut", "manifest"):
        store, made = copy_of(whole)
        keys = [info.key for info in whole.list(f"{made.id}/data/")]
        assert len(keys) > 2
        if damage == "changed":
            data = bytearray(store.get(keys[1]))
            data[100] ^= 1
            store.put(keys[1], data)
        elif damage == "missing":
            store.delete(keys[1])
        else:
            document = json.loads(store.get(manifest_key(made.id)))
            if damage == "swapped":
                first, second = store.get(keys[0]), store.get(keys[1])
                store.put(keys[0], second)
                store.put(keys[1], first)
                document["parts"][:2] = document["parts"][1::-1]
            elif damage == "cut":
                document["parts"] = document["parts"][:-1]
            elif passphrase is None:
                continue
            else:
                document["rows"] += 1
            store.put(manifest_key(made.id), json.dumps(document).encode())
        folder = tmp_path / damage
        with pytest.raises(Corrupt):
            restore(open_backup(store, made.id, passphrase), Settings(folder), ALONE, FakeClock())
        assert not (folder / "millpond.db").exists()
        assert not (folder / "secret.key").exists()


def test_a_target_that_is_not_empty_is_refused(plain: MemoryStore, tmp_path: Path) -> None:
    store, made = copy_of(plain)
    opened = open_backup(store, made.id, None)
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(SetupError, match=r"not empty: it holds notes\.txt"):
        restore(opened, Settings(folder), ALONE, FakeClock())
    (folder / "notes.txt").unlink()
    # What a restore that was killed has left does not stand in the way.
    (folder / ".restoring" / "logs").mkdir(parents=True)
    restore(opened, Settings(folder), ALONE, FakeClock())
    with pytest.raises(SetupError, match=r"not empty: it holds components"):
        restore(opened, Settings(folder), ALONE, FakeClock())


def test_a_backup_of_a_newer_version_is_refused(plain: MemoryStore) -> None:
    store, made = copy_of(plain)
    document = json.loads(store.get(manifest_key(made.id)))
    store.put(manifest_key(made.id), json.dumps(document | {"format": "millpond.backup/2"}).encode())
    with pytest.raises(SetupError, match=r"format millpond\.backup/2"):
        open_backup(store, made.id, None)
    assert not places.list_backups(store)


class _FullStore(MemoryStore):
    """Has room for so many objects."""

    room = 2

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        if self.room == 0:
            raise DiskFull(f"No space left for {key!r}.")
        self.room -= 1
        super().put(key, data, if_absent=if_absent)


def test_a_full_disk_leaves_nothing_behind(deps: Deps) -> None:
    store = _FullStore(None)
    with pytest.raises(DiskFull, match="No space left for the backup"):
        back_up(deps, store)
    assert not list(store.list())


def test_only_the_newest_are_kept_and_others_are_left_alone(plain: MemoryStore) -> None:
    store, made = copy_of(plain)
    document = json.loads(store.get(manifest_key(made.id)))

    def add(backup_id: str, database: str = made.database) -> str:
        store.put(part_key(backup_id, 0), b"content")
        store.put(manifest_key(backup_id), json.dumps(document | {"id": backup_id, "database": database}).encode())
        return backup_id

    older = [add(f"202501{day:02}T000000Z-00000000") for day in (1, 2)]
    stranger = add("20200101T000000Z-00000000", "another")
    unfinished = "20251201T000000Z-0badcafe"
    store.put(part_key(unfinished, 0), b"left by a process that was killed")
    places.keep_newest(store, 2, database=made.database, now=NOON)
    assert [one.id for one in places.list_backups(store)] == [made.id, older[1], stranger]
    assert not list(store.list(f"{unfinished}/"))
    assert not list(store.list(f"{older[0]}/"))


def test_verify_reads_every_row_and_file(plain: MemoryStore, sealed: MemoryStore) -> None:
    for store, passphrase in ((plain, None), (sealed, PASSPHRASE)):
        made = places.list_backups(store)[0]
        found = verify(open_backup(store, made.id, passphrase))
        assert (found.tables, found.rows, found.files) == (made.tables, made.rows, made.files)
