"""Two servers on one lake, and a server whose database is an older copy: who may write, and what each of them says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.app import preparing, reindex_lake, take_over_lake
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.db import collecting
from millpond.db import datasets as rows
from millpond.errors import LakeTakenOver, ReadOnly, SetupError
from millpond.lake.keys import ProjectKeys, record_epoch
from millpond.model.dataset import Commit
from millpond.model.people import SYSTEM
from millpond.services import doctor
from millpond.services.commits.uploads import uploads
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.events import EventHub
from millpond.services.lake import collect, pending_deletion, reconcile
from millpond.services.lake.fence import FRESH_SECONDS, SETTLE_SECONDS, NoFence
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.up import mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill
from tests.unit.services.lake.reading_all import read_all

PASSWORD = "correct horse battery"


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.long)])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "directory":
        return (tmp_path / "lake").as_uri()
    seaweed: Seaweed = request.getfixturevalue("seaweed")
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return seaweed.url(tmp_path.name)


def settings_of(folder: Path, lake: str) -> Settings:
    folder.mkdir(exist_ok=True)
    return Settings(data_dir=folder, lake_url=lake)


@contextmanager
def a_server(settings: Settings) -> Iterator[tuple[Deps, FakeClock]]:
    """As `mill up` starts it, without listening."""
    clock = FakeClock()
    with preparing(settings, EventHub(), clock, admin_password=PASSWORD) as prepared:
        yield prepared.deps, clock


def said(deps: Deps, name: str) -> doctor.Check:
    return next(check for check in doctor.examine(deps) if check.name == name)


def objects(store: BlobStore) -> list[str]:
    return [info.key for info in store.list() if not info.key.startswith("owner/")]


def test_a_server_whose_lake_was_taken_over_writes_no_more_and_never_collects(lake: str, tmp_path: Path) -> None:
    old, new = settings_of(tmp_path / "old", lake), settings_of(tmp_path / "new", lake)
    with a_server(old) as (first, clock):
        kept = a_commit(first, {"a": b"1"})
        a_commit(first, {"gone": b"2"}, dataset="rubbish")
        datasets.delete(first, the_admin(first), a_dataset(first, "rubbish"))
        reindex_lake(new, settle_seconds=0)
        before = objects(first.store)

        clock.advance(31 * 86_400)
        for removing in (
            lambda: collect.collect(first, SYSTEM, now=True),
            lambda: pending_deletion.permission(first).__enter__(),
        ):
            with pytest.raises(LakeTakenOver):
                removing()
        with pytest.raises(LakeTakenOver, match="took this lake over") as refused:
            a_commit(first, {"a": b"late"})
        assert f"mill lake take-over --data-dir {old.data_dir}" in (refused.value.hint or "")
        upload = uploads.create(first, the_admin(first), the_project(first))
        with pytest.raises(LakeTakenOver):
            uploads.pack_slots(first, upload, 1)
        assert objects(first.store) == before
        with first.db.read() as tx:
            assert not rows.pending(tx), "nothing waits to be written should it own the lake again"
        assert read_all(first, a_dataset(first), kept) == {"a": b"1"}, "reading goes on"

        with a_server(new) as (second, _):
            assert said(first, "lake").ok is False
            assert "took this lake over" in said(first, "lake").message
            assert said(second, "lake").ok
            assert said(second, "records").ok
            newest = a_commit(second, {"a": b"2"})
            assert read_all(second, a_dataset(second), newest) == {"a": b"2"}
            written = [record_epoch(key) for key in objects(second.store) if "/datasets/" in key]
            assert max(written) == 1


def test_it_notices_before_the_new_owner_begins_to_read(tmp_path: Path) -> None:
    lake = (tmp_path / "lake").as_uri()
    assert FRESH_SECONDS < SETTLE_SECONDS <= 10
    with a_server(settings_of(tmp_path / "old", lake)) as (first, clock):
        a_commit(first, {"a": b"1"})
        take_over_lake(settings_of(tmp_path / "new", lake), settle_seconds=0)
        clock.advance(FRESH_SECONDS)
        with pytest.raises(LakeTakenOver):
            first.store.put("projects/x", b"")
        with pytest.raises(LakeTakenOver):
            first.store.delete("projects/x")
        with pytest.raises(LakeTakenOver):
            first.store.sign("PUT", "projects/x", 60)
        assert first.store.sign("GET", "projects/x", 60)


def test_what_a_former_owner_writes_all_the_same_is_ignored_and_named(lake: str, tmp_path: Path) -> None:
    """A server that does not look, such as an older one."""
    old, new = settings_of(tmp_path / "old", lake), settings_of(tmp_path / "new", lake)
    with a_server(old) as (first, _):
        before = a_commit(first, {"a": b"1"})
        reindex_lake(new, settle_seconds=0)
        with a_server(new) as (second, _):
            pass
        unaware = replace(first, store=open_store(lake, LocalSigner(first.secret)), fence=NoFence())
        late = a_commit(unaware, {"a": b"late"})
        with a_server(new) as (second, _):
            check = said(second, "records")
            assert not check.ok
            assert "1 record is ignored" in check.message
            assert [record for record in second.fence.ignored if record in check.message]
            third = a_commit(second, {"a": b"2"})
            assert third.parents == (before.id,)
    again = settings_of(tmp_path / "again", lake)
    found = reindex_lake(again, settle_seconds=0)
    assert len([problem for problem in found.problems if "is ignored" in problem]) == 1, found.problems
    with a_server(again) as (deps, _):
        assert heads(deps) == {"xray": third.id}
        with deps.db.read() as tx:
            assert late.id not in {row.commit.id for row in collecting.commits_of(tx, third.dataset_id)}


def heads(deps: Deps) -> dict[str, str | None]:
    with deps.db.read() as tx:
        return {card.dataset.name: card.head for card in rows.cards(tx, among=None, limit=99)}


def restored(tmp_path: Path, lake: str) -> tuple[Settings, Commit, Commit, Commit]:
    """A server whose database was set back: `xray` has a commit, and `later` all it has, that only the lake knows."""
    settings = settings_of(tmp_path / "server", lake)
    file = settings.data_dir / "millpond.db"
    with a_server(settings) as (deps, _):
        a_commit(deps, {"a": b"1"})
        other = a_commit(deps, {"b": b"1"}, dataset="other")
    shutil.copy(file, tmp_path / "copy.db")
    with a_server(settings) as (deps, _):
        newest = a_commit(deps, {"a": b"2", "c": b"more"})
        later = a_commit(deps, {"d": b"1"}, dataset="later")
    for part in settings.data_dir.glob("millpond.db*"):
        part.unlink()
    shutil.copy(tmp_path / "copy.db", file)
    return settings, newest, other, later


def test_an_older_copy_of_the_database_makes_only_what_differs_read_only(lake: str, tmp_path: Path) -> None:
    settings, newest, other, later = restored(tmp_path, lake)
    with a_server(settings) as (deps, clock):
        assert said(deps, "lake").ok
        check = said(deps, "records")
        assert not check.ok
        assert "default/xray" in check.message
        assert "mill lake reconcile" in (check.hint or "")
        with pytest.raises(ReadOnly, match="default/xray is read-only") as refused:
            a_commit(deps, {"a": b"3"})
        assert "mill lake reconcile default" in (refused.value.hint or "")
        assert datasets.card(deps, a_dataset(deps, "xray")).card.conflict
        assert a_commit(deps, {"b": b"2"}, dataset="other").parents == (other.id,), "everything else works"

        clock.advance(31 * 86_400)
        before = objects(deps.store)
        (collected,) = collect.collect(deps, SYSTEM, now=True).projects
        assert "Nothing is removed" in (collected.problem or "")
        assert objects(deps.store) == before

        done = reconcile.reconcile(deps, the_admin(deps), None)
        assert (done.projects, done.datasets, done.problems) == (1, 3, [])
        assert heads(deps)["xray"] == newest.id
        assert heads(deps)["later"] == later.id
        assert said(deps, "records").ok
        assert read_all(deps, a_dataset(deps), newest) == {"a": b"2", "c": b"more"}
        assert collect.collect(deps, SYSTEM, now=True).projects[0].problem is None
        third = a_commit(deps, {"a": b"3"})
        assert third.parents == (newest.id,)
        assert read_all(deps, a_dataset(deps), third) == {"a": b"3"}
        assert reconcile.reconcile(deps, the_admin(deps), None).projects == 0, "they agree"


def test_a_record_that_was_on_its_way_gives_way_to_the_lake(tmp_path: Path) -> None:
    """The copy was made while a commit was being written, and the lake has another record of that number."""
    lake = (tmp_path / "lake").as_uri()
    settings, newest, _, _ = restored(tmp_path, lake)
    with a_server(settings) as (deps, _):
        with deps.db.write() as tx:
            rows.change(tx, newest.dataset_id, conflict=None)
        with pytest.raises(ReadOnly):
            a_commit(deps, {"a": b"mine"})
        with deps.db.read() as tx:
            assert len(rows.pending(tx)) == 1
    with a_server(settings) as (deps, _):  # it starts
        reconcile.reconcile(deps, the_admin(deps), "default")
        with deps.db.read() as tx:
            assert not rows.pending(tx)
        assert heads(deps)["xray"] == newest.id


def test_reconciling_that_was_cut_off_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, newest, _, _ = restored(tmp_path, (tmp_path / "lake").as_uri())
    with a_server(settings) as (deps, _):
        with monkeypatch.context() as patched:
            patched.setattr(rows, "insert", _power_cut)
            with pytest.raises(KeyboardInterrupt):
                reconcile.reconcile(deps, the_admin(deps), None)
        with pytest.raises(ReadOnly, match="being reconciled"):
            a_commit(deps, {"b": b"2"}, dataset="other")
        assert "Nothing is removed" in (collect.collect(deps, SYSTEM, now=True).projects[0].problem or "")
        reconcile.reconcile(deps, the_admin(deps), None)
        assert read_all(deps, a_dataset(deps), newest) == {"a": b"2", "c": b"more"}
        assert a_commit(deps, {"b": b"2"}, dataset="other")


def _power_cut(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_taking_a_lake_back_confines_what_the_other_server_wrote(tmp_path: Path) -> None:
    lake = (tmp_path / "lake").as_uri()
    one, two = settings_of(tmp_path / "one", lake), settings_of(tmp_path / "two", lake)
    with a_server(one) as (deps, _):
        a_commit(deps, {"a": b"1"})
        a_commit(deps, {"b": b"1"}, dataset="other")
    reindex_lake(two, settle_seconds=0)
    with a_server(two) as (deps, _):
        theirs = a_commit(deps, {"a": b"2"})
    assert take_over_lake(one, settle_seconds=0) is not None
    with a_server(one) as (deps, _):
        with pytest.raises(ReadOnly):
            a_commit(deps, {"a": b"3"})
        assert a_commit(deps, {"b": b"2"}, dataset="other")
        reconcile.reconcile(deps, the_admin(deps), None)
        assert a_commit(deps, {"a": b"3"}).parents == (theirs.id,)
    with a_server(one) as (deps, _):
        assert said(deps, "records").ok
    with pytest.raises(SetupError, match="belongs to another server"), a_server(two):
        pass


def test_no_server_starts_on_half_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = (tmp_path / "lake").as_uri()
    with a_server(settings_of(tmp_path / "old", lake)) as (deps, _):
        a_commit(deps, {"a": b"1"})
    new = settings_of(tmp_path / "new", lake)
    with monkeypatch.context() as patched:
        patched.setattr(rows, "insert", _power_cut)
        with pytest.raises(KeyboardInterrupt):
            reindex_lake(new, settle_seconds=0)
    with pytest.raises(SetupError, match="cut off") as refused, a_server(new):
        pass
    assert "mill lake reindex" in (refused.value.hint or "")
    assert reindex_lake(new).datasets == 1, "and nobody is waited for the second time"


def test_purging_removes_the_records_of_every_owner(tmp_path: Path) -> None:
    lake = (tmp_path / "lake").as_uri()
    with a_server(settings_of(tmp_path / "old", lake)) as (deps, _):
        a_commit(deps, {"a": b"1"})
    new = settings_of(tmp_path / "new", lake)
    reindex_lake(new, settle_seconds=0)
    with a_server(new) as (deps, clock):
        a_commit(deps, {"a": b"2"})
        datasets.delete(deps, the_admin(deps), a_dataset(deps))
        clock.advance(31 * 86_400)
        collect.collect(deps, SYSTEM, now=True)
        assert not list(deps.store.list(ProjectKeys(the_project(deps).id).datasets))


@pytest.mark.long
def test_two_processes_on_one_lake(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lake = (tmp_path / "lake").as_uri()
    with mill_up(tmp_path / "old", "--no-agent", "--lake", lake) as first:
        mill = Mill(first, capfd, tmp_path)
        folder = tmp_path / "xray"
        folder.mkdir()
        (folder / "a").write_text("1")
        mill.ok("data", "init", cwd=folder)
        mill.ok("data", "sync", cwd=folder)
        mill.ok("lake", "reindex", "--data-dir", str(tmp_path / "new"), "--lake", lake, "--yes")
        # From now on: whoever took over has waited until the other one has stopped.
        (folder / "a").write_text("2")
        refused = mill("data", "sync", cwd=folder)
        assert refused.code == 5
        assert "took this lake over" in refused.err
        assert "mill lake take-over" in refused.err
        assert mill("lake", "collect", "--now").code == 5
        with mill_up(tmp_path / "new", "--no-agent", "--lake", lake) as second:
            checks = Mill(second, capfd, tmp_path)("doctor", "--json").json["checks"]
            assert next(check for check in checks if check["name"] == "lake")["ok"]
        checks = mill("doctor", "--json").json["checks"]
        assert not next(check for check in checks if check["name"] == "lake")["ok"]
        wait_until(lambda: "loop_stopped" in first.output, within=30, what="the server's log")
