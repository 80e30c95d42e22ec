"""Sources against a real bucket: only differences, one server at a time, failures with reasons."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from millpond.blobs.external_s3 import S3Place
from millpond.client.datasets import create_dataset, get_commit, list_commits, list_entries
from millpond.client.edits import put_files
from millpond.client.file_reader import read_file
from millpond.client.http import Api
from millpond.client.sources import change_source, create_source, delete_source, get_source, run_source
from millpond.db import projects, sources, users
from millpond.errors import InUse, NameTaken
from millpond.lake.digests import digest_of
from millpond.model.connection import ExternalObject
from millpond.model.people import Role
from millpond.model.source import SourceObject
from millpond.services.sources import copying, source_runs
from millpond.testing.seaweed import Seaweed
from millpond.wire.imports import Source, SourceChange, SourceCreate
from tests.integration.outside import Importing, importing

BIG = random.Random(6).randbytes(2_500_000)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, seaweed: Seaweed) -> Iterator[Importing]:
    with importing(tmp_path_factory.mktemp("sources"), seaweed, bucket="feed") as running:
        running.connect("feed")
        yield running


class Killed(BaseException):
    """Nothing of the server catches it, as nothing catches a kill."""


def a_source(there: Importing, name: str, *, api: Api | None = None, **more: object) -> Source:
    create_dataset(there.api, "default", name)
    asked = {"dataset": name, "connection": "feed", "uri": there.uri(f"{name}/"), "every_seconds": 3600} | more
    return create_source(api or there.api, "default", SourceCreate.model_validate(asked))


def ran(there: Importing, source: Source) -> Source:
    if there.run_sources() == 0:
        run_source(there.api, "default", source.id)
        assert there.run_sources() == 1
    return get_source(there.api, "default", source.id)


def content(there: Importing, name: str) -> dict[str, bytes]:
    files = [entry.path for entry in list_entries(there.api, "default", name, "main", "") if entry.kind == "file"]
    return {path: b"".join(read_file(there.api, "default", name, "main", path)) for path in files}


@pytest.mark.parametrize("copies", [False, True], ids=["registering", "copying"])
def test_only_differences_are_committed(there: Importing, copies: bool) -> None:
    name = "copied" if copies else "registered"
    for number in range(4):
        there.bucket.put(f"{name}/{number}", f"first {number}".encode())
    there.bucket.put(f"{name}/big", BIG)
    source = ran(there, a_source(there, name, copies=copies))
    assert (source.state, source.problem, source.failures) == ("waiting", None, 0)
    assert source.result is not None and source.result.commit_id is not None
    assert (source.result.added, source.result.unchanged) == (5, 0)
    assert source.next_at is not None and source.started_at is not None
    assert source.next_at - source.started_at == timedelta(seconds=3600)
    first = get_commit(there.api, "default", name)
    assert first.lineage["import"] == {
        "connection": "feed", "copied": copies, "source": source.name, "uri": there.uri(f"{name}/"),
    }  # fmt: skip
    assert ("external" in first.lineage) is not copies

    again = ran(there, source)
    assert again.result is not None and again.result.commit_id is None
    assert again.result.unchanged == 5

    there.bucket.put(f"{name}/1", b"second 1")
    there.bucket.put(f"{name}/new", b"new")
    there.bucket.remove(f"{name}/2")
    changed = ran(there, source)
    assert changed.result is not None
    counts = changed.result.added, changed.result.changed, changed.result.removed, changed.result.unchanged
    assert counts == (1, 1, 1, 3)
    assert content(there, name) == {
        "0": b"first 0", "1": b"second 1", "3": b"first 3", "big": BIG, "new": b"new",
    }  # fmt: skip
    assert len(list(list_commits(there.api, "default", name))) == 2
    if copies:  # what was copied stays, whatever happens there
        there.bucket.remove(f"{name}/big")
        assert content(there, name)["big"] == BIG


def test_what_people_put_beside_it_stays(there: Importing, tmp_path_factory: pytest.TempPathFactory) -> None:
    there.bucket.put("beside/a", b"a")
    there.bucket.put("beside/b", b"b")
    source = ran(there, a_source(there, "beside"))
    own = tmp_path_factory.mktemp("own") / "own"
    own.write_bytes(b"mine")
    put_files(there.api, "default", "beside", {"own": own, "b": own})
    there.bucket.remove("beside/b")
    done = ran(there, source)
    assert done.result is not None and done.result.removed == 0
    assert content(there, "beside") == {"a": b"a", "b": b"mine", "own": b"mine"}


def test_what_was_imported_before_is_the_sources_own(there: Importing) -> None:
    there.bucket.put("adopted/a", b"a")
    there.bucket.put("adopted/b", b"b")
    create_dataset(there.api, "default", "adopted")
    there.bring("adopted", "feed", there.uri("adopted/"))
    asked = {"dataset": "adopted", "connection": "feed", "uri": there.uri("adopted/")}
    source = ran(there, create_source(there.api, "default", SourceCreate.model_validate(asked)))
    assert source.result is not None and source.result.unchanged == 2
    there.bucket.remove("adopted/a")
    done = ran(there, source)
    assert done.result is not None and done.result.removed == 1
    assert content(there, "adopted") == {"b": b"b"}


def test_a_place_that_is_suddenly_empty_empties_nothing(there: Importing) -> None:
    there.bucket.put("emptied/a", b"a")
    source = ran(there, a_source(there, "emptied"))
    there.bucket.remove("emptied/a")
    failed = ran(there, source)
    assert failed.state == "failing" and failed.failures == 1
    assert failed.problem is not None and "Nothing found at" in failed.problem
    assert [entry.path for entry in list_entries(there.api, "default", "emptied", "main", "")] == ["a"]
    there.bucket.put("emptied/a", b"back")
    assert ran(there, failed).failures == 0
    assert content(there, "emptied") == {"a": b"back"}


def test_failures_are_told_and_tried_again_ever_later(there: Importing) -> None:
    source = a_source(there, "failing")
    waits = []
    for count in (1, 2, 3):
        failed = ran(there, source)
        assert failed.failures == count and failed.ended_at is not None and failed.next_at is not None
        waits.append((failed.next_at - failed.ended_at).total_seconds())
    assert waits == [60, 120, 240]


def test_one_source_is_run_by_one_server_at_a_time(there: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    there.bucket.put("once/a", b"a")
    source = a_source(there, "once")
    inside, others_done = threading.Event(), threading.Event()
    real = source_runs.carry_out
    runs: list[str] = []

    def slowly(*arguments: object, **options: object) -> object:
        runs.append(threading.current_thread().name)
        inside.set()
        assert others_done.wait(30)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(source_runs, "carry_out", slowly)
    first = threading.Thread(target=there.run_sources)
    first.start()
    assert inside.wait(30)
    assert get_source(there.api, "default", source.id).state == "running"
    assert there.run_sources() == 0
    others_done.set()
    first.join(30)
    assert len(runs) == 1
    assert get_source(there.api, "default", source.id).state == "waiting"


def test_a_source_that_two_servers_find_due_runs_once(there: Importing) -> None:
    there.bucket.put("twice/a", b"a")
    source = a_source(there, "twice")
    now = there.server.deps.clock.now()
    with there.server.deps.db.read() as tx:
        assert sources.due(tx, now) == source.id
    assert there.run_sources() == 1, "another was quicker"
    with there.server.deps.db.write() as tx:
        assert not sources.claim(tx, source.id, "late", now=now, until=now + timedelta(minutes=2))


def test_a_source_that_was_paused_since_it_was_found_due_does_not_run(there: Importing) -> None:
    source = a_source(there, "stopped")
    change_source(there.api, "default", source.id, SourceChange(paused=True))
    now = there.server.deps.clock.now()
    with there.server.deps.db.write() as tx:
        assert not sources.claim(tx, source.id, "late", now=now, until=now + timedelta(minutes=2))


def test_a_run_that_is_asked_for_during_a_run_is_not_lost(there: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one under way has listed the place already."""
    there.bucket.put("asked/a", b"a")
    source = a_source(there, "asked")
    real = source_runs.carry_out
    runs: list[int] = []

    def meanwhile(*arguments: object, **options: object) -> object:
        done = real(*arguments, **options)  # type: ignore[arg-type]
        runs.append(len(runs))
        if len(runs) == 1:
            there.bucket.put("asked/b", b"b")
            run_source(there.api, "default", source.id)
            change_source(there.api, "default", source.id, SourceChange(every_seconds=7200))
        return done

    monkeypatch.setattr(source_runs, "carry_out", meanwhile)
    assert there.run_sources() == 2
    assert content(there, "asked") == {"a": b"a", "b": b"b"}
    after = get_source(there.api, "default", source.id)
    assert after.next_at is not None and after.started_at is not None
    assert after.next_at - after.started_at == timedelta(seconds=7200), "by the schedule as it is now"


def test_a_server_that_died_while_running_is_replaced(there: Importing) -> None:
    there.bucket.put("died/a", b"a")
    source = a_source(there, "died")
    now = there.server.deps.clock.now()
    with there.server.deps.db.write() as tx:
        assert sources.claim(tx, source.id, "dead", now=now, until=now + timedelta(minutes=2))
        assert not sources.claim(tx, source.id, "other", now=now, until=now + timedelta(minutes=2))
    assert there.run_sources() == 0
    with there.server.deps.db.write() as tx:  # as if two minutes had passed
        sources.change(tx, source.id, runner_until=now - timedelta(seconds=1))
    assert ran(there, source).result is not None
    with there.server.deps.db.write() as tx:
        assert not sources.finish(tx, source.id, "dead", failures=9), "what is late changes nothing"


def test_a_long_run_that_is_cut_off_goes_on(there: Importing, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had been copied when the server died is neither read again nor stored again."""
    monkeypatch.setattr(copying, "NOTED_EVERY", timedelta())
    for number in range(4):
        there.bucket.put(f"long/{number}", BIG[number * 1000 :] if number == 1 else f"small {number}".encode())
    source = a_source(there, "long", copies=True)
    read: list[str] = []
    original = S3Place.read

    def dying(place: S3Place, found: ExternalObject, start: int, end: int) -> Iterator[bytes]:
        name = found.uri.rpartition("/")[2]
        read.append(name)
        if name == "3" and not noted.is_set():
            noted.wait(30)
            raise Killed
        return original(place, found, start, end)

    noted = threading.Event()
    put_objects = sources.put_objects

    def noting(tx: Connection, source_id: str, found: Sequence[SourceObject]) -> None:
        put_objects(tx, source_id, found)
        if any(one.path == b"2" for one in found):
            noted.set()

    monkeypatch.setattr(S3Place, "read", dying)
    monkeypatch.setattr(sources, "put_objects", noting)
    with pytest.raises(Killed):
        there.run_sources()
    packs = {info.key for info in there.server.deps.store.list("projects/") if "/packs/" in info.key}
    with there.server.deps.db.write() as tx:  # as if two minutes had passed
        sources.change(tx, source.id, runner_until=there.server.deps.clock.now() - timedelta(seconds=1))
    read.clear()
    assert ran(there, source).result is not None
    assert read == ["3"], "the others had come"
    more = {info.key for info in there.server.deps.store.list("projects/") if "/packs/" in info.key} - packs
    assert len(more) == 1
    assert content(there, "long") == {"0": b"small 0", "1": BIG[1000:], "2": b"small 2", "3": b"small 3"}


def test_what_was_noted_and_is_gone_from_the_lake_is_read_again(there: Importing) -> None:
    there.bucket.put("lost/a", b"really there")
    source = a_source(there, "lost", copies=True)
    ran(there, source)
    with there.server.deps.db.write() as tx:
        (known,) = sources.objects(tx, source.id).values()
        sources.put_objects(tx, source.id, [SourceObject(b"b", known.etag, known.size, digest_of(b"never came"))])
    there.bucket.put("lost/b", b"really there")
    ran(there, source)
    assert content(there, "lost") == {"a": b"really there", "b": b"really there"}


def test_pausing_resuming_and_removing(there: Importing) -> None:
    there.bucket.put("paused/a", b"a")
    source = a_source(there, "paused", every_seconds=60)
    paused = change_source(there.api, "default", source.id, SourceChange(paused=True))
    assert (paused.state, paused.next_at) == ("paused", None)
    assert there.run_sources() == 0
    change_source(there.api, "default", source.id, SourceChange(paused=False))
    assert ran(there, source).state == "waiting"
    with pytest.raises(InUse, match="paused"):
        there.api.request("DELETE", "/projects/default/connections/feed")
    with pytest.raises(NameTaken):
        asked = {"name": "paused", "dataset": "paused", "connection": "feed", "uri": there.uri("paused/")}
        create_source(there.api, "default", SourceCreate.model_validate(asked))
    delete_source(there.api, "default", source.id)
    assert content(there, "paused") == {"a": b"a"}


def test_a_source_ends_with_the_role_of_its_user(there: Importing) -> None:
    there.bucket.put("leaver/a", b"a")
    client = there.server.user("leaver", roles={"default": Role.MEMBER})
    with Api(there.server.url, client.headers["Authorization"].removeprefix("Bearer ")) as theirs:
        source = ran(there, a_source(there, "leaver", api=theirs))
    assert (source.user, source.problem) == ("leaver", None)
    there.bucket.put("leaver/b", b"b")
    with there.server.deps.db.write() as tx:
        user, project = users.find(tx, "leaver"), projects.find(tx, "default")
        assert user is not None and project is not None
        projects.remove_member(tx, project.id, user.id)
    failed = ran(there, source)
    assert failed.problem is not None and "role member" in failed.problem
    assert "b" not in content(there, "leaver")
    with there.server.deps.db.write() as tx:
        users.delete(tx, user.id)
    assert "no longer exists" in str(ran(there, failed).problem)
    for paused in (True, False):
        change_source(there.api, "default", source.id, SourceChange(paused=paused))
    assert ran(there, source).user == "admin"
    assert "b" in content(there, "leaver")
